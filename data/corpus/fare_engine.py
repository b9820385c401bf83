"""Fare engine of Merrow Sound Transit.

One module, no database. The ticket machines, the app and the pier kiosks send
trips in and get cents back; nothing in here knows what a screen looks like.
The browser front end is ``fare_widget.js``, and the types of the public API
are in ``fare_types.ts``. Where one of them disagrees with this file about a
price, this file is what the passenger pays.

All money is in whole cents. There was a time (version 1, until 2019) when it
was in floats, and a month's accounts were out by 11 cents, and nobody who was
there wants to talk about it.

Owner: ticketing systems, 14 Customs House Lane (Jory Penhallick, Anneke Brill).
Last change of a price: 1 April 2024. Last change of a rule: 9 May 2025.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from enum import Enum

# --------------------------------------------------------------------------
# Constants. Anything with a date of validity is in TARIFFS further down.
# --------------------------------------------------------------------------

TRANSFER = timedelta(minutes=90)
DAILY_CAP = 740            # the price of a day ticket; by card only
TEN_RIDE_CARD = 2400
F1_SUPPLEMENT = 150        # each crossing, never each day
BICYCLE_PEAK = 200

CHILD_FROM = 6             # sixth birthday: until the day before, free
ADULT_FROM = 15            # "6 to 14" on the poster means up to the 15th birthday

# Weekday peaks for bicycles, start included, end not. The evening peak began
# at 15:30 until 31 December 2022. The widget has never been told (FARE-231,
# open since 9 January 2023); it only colours a button and charges nothing.
BICYCLE_PEAKS = ((time(7, 0), time(9, 0)), (time(16, 0), time(18, 30)))

# A day of service runs over midnight: the last cars are back at Carrow Street
# shortly before 01:10 and the first leaves Fennick at 04:50. We cut at four.
SERVICE_DAY_STARTS = time(4, 0)

REFUND_STEPS = ((45, 100), (20, 50))   # minutes late, per cent; longest first
REFUND_CLAIM_DAYS = 28
# Piet Aldana's ruling: a capped ride counts as a single, halves go up to the
# next cent. Before that day nothing, and to the next five cents.
REFUND_RULING = date(2025, 5, 9)

PENALTY_FARE = 6000
PENALTY_FARE_EARLY = 3000
PENALTY_EARLY_DAYS = 14
FORGOTTEN_PASS_FEE = 400   # handbook 7.1
FORGOTTEN_PASS_DAYS = 5    # working days, counted from the day after the slip

GROUP_MINIMUM = 10
GROUP_DISCOUNT = 20        # per cent, on singles and on nothing else

FIXED_HOLIDAYS = {(1, 1), (12, 25), (12, 26)}  # movable ones: passed in


class Mode(Enum):
    TRAM = "tram"
    FERRY = "ferry"


class Line(Enum):
    """Lines in service. The numbers 3, 5 and 6 are not missing by accident."""

    L1 = ("1", Mode.TRAM)
    L2 = ("2", Mode.TRAM)
    L4 = ("4", Mode.TRAM)
    L7 = ("7", Mode.TRAM)
    F1 = ("F1", Mode.FERRY)
    F2 = ("F2", Mode.FERRY)
    F3 = ("F3", Mode.FERRY)

    def __init__(self, label: str, mode: Mode) -> None:
        self.label = label
        self.mode = mode


class Rider(Enum):
    FREE = "under six"
    CHILD = "child"
    ADULT = "adult"

    @classmethod
    def of_age(cls, age: int) -> Rider:
        """
        >>> [Rider.of_age(a).name for a in (5, 6, 14, 15)]
        ['FREE', 'CHILD', 'CHILD', 'ADULT']
        """
        if age < CHILD_FROM:
            return cls.FREE
        return cls.CHILD if age < ADULT_FROM else cls.ADULT


class FareError(ValueError):
    """Base class, so that a kiosk can catch one thing and ring the desk."""


class NoTariff(FareError):
    """The trip lies before the first table we hold."""


class NotCarried(FareError):
    """The thing may not come on board at all; no price makes it right."""


@dataclass(frozen=True)
class Tariff:
    """Prices in force from ``start`` to ``end``, both days included."""

    start: date
    end: date | None
    single: int
    monthly_pass: int
    night: int             # added to a single between 01:00 and 05:00
    child_step: int        # half price is rounded to this many cents ...
    child_up: bool         # ... upwards, or to the nearest
    school_ratio: int      # pupils for each free escort

    def covers(self, day: date) -> bool:
        return self.start <= day and (self.end is None or day <= self.end)


# The first row starts where our records were moved over from the old tills,
# not where the price of 2.60 began. Newest last; no gaps (see _check_tables).
TARIFFS = (
    Tariff(date(2022, 1, 1), date(2023, 8, 31), 260, 5400, 100, 5, False, 15),
    # 1 September 2023: the night supplement goes. In its last year it brought
    # in 96,000 euro, mostly from bakers on the 04:50 from Fennick.
    Tariff(date(2023, 9, 1), date(2024, 3, 31), 260, 5400, 0, 5, False, 15),
    # 1 April 2024: 2.60 becomes 2.80, the pass 54.00 becomes 58.00, and child
    # prices go up to the next 10 cents, as the new machines hold no 5s.
    Tariff(date(2024, 4, 1), date(2024, 7, 31), 280, 5800, 0, 10, True, 15),
    # 1 August 2024: one free escort for ten pupils instead of fifteen.
    Tariff(date(2024, 8, 1), None, 280, 5800, 0, 10, True, 10),
)


def _check_tables() -> None:
    """Refuse to start with a hole in the tables. It has happened: 2024-03-30."""
    for older, newer in zip(TARIFFS, TARIFFS[1:]):
        if older.end is None or older.end + timedelta(days=1) != newer.start:
            raise FareError(f"gap or overlap before {newer.start}")


def tariff_on(day: date) -> Tariff:
    """
    >>> tariff_on(date(2024, 3, 31)).single, tariff_on(date(2024, 4, 1)).single
    (260, 280)
    """
    for tariff in reversed(TARIFFS):
        if tariff.covers(day):
            return tariff
    raise NoTariff(f"no table for {day}")


def service_day(moment: datetime) -> date:
    """The day of service a moment belongs to: 00:40 is still yesterday."""
    if moment.time() < SERVICE_DAY_STARTS:
        return moment.date() - timedelta(days=1)
    return moment.date()


# --------------------------------------------------------------------------
# Decorators
# --------------------------------------------------------------------------

RULES: dict[str, str] = {}   # name of function -> reason; printed by the desk tool


def whole_cents(func: Callable[..., int]) -> Callable[..., int]:
    """Let nothing but a non-negative int out. Floats came back once, by a merge."""

    @functools.wraps(func)
    def guard(*args, **kwargs) -> int:
        cents = func(*args, **kwargs)
        if type(cents) is not int or cents < 0:
            raise FareError(f"{func.__name__} gave {cents!r}")
        return cents

    return guard


def rule(reason: str) -> Callable[[Callable], Callable]:
    """Register a function with the reason that the desk may give on the phone."""

    def register(func: Callable) -> Callable:
        RULES[func.__name__] = reason
        return func

    return register


# --------------------------------------------------------------------------
# Single prices
# --------------------------------------------------------------------------

@rule("Half price from the sixth birthday to the day before the fifteenth.")
@whole_cents
def price_for(rider: Rider, full: int, day: date) -> int:
    """The price ``full`` for this rider on this day.

    The child price of a single has been exact in every table; only the F1
    supplement shows the rounding.

    >>> price_for(Rider.CHILD, 280, date(2025, 11, 11))
    140
    >>> price_for(Rider.CHILD, F1_SUPPLEMENT, date(2024, 3, 31))
    75
    >>> price_for(Rider.CHILD, F1_SUPPLEMENT, date(2024, 4, 1))
    80
    """
    if rider is Rider.FREE:
        return 0
    if rider is Rider.ADULT:
        return full
    tariff = tariff_on(day)
    step = 2 * tariff.child_step            # in half cents, to stay whole
    steps = -(-full // step) if tariff.child_up else (full + step // 2) // step
    return steps * tariff.child_step


@rule("Abolished on 1 September 2023.")
@whole_cents
def night_supplement(rider: Rider, boarding: datetime) -> int:
    """
    >>> night_supplement(Rider.ADULT, datetime(2023, 8, 31, 4, 50))
    100
    >>> night_supplement(Rider.ADULT, datetime(2023, 9, 1, 4, 50))
    0
    """
    if not time(1, 0) <= boarding.time() < time(5, 0):
        return 0
    day = boarding.date()       # the real date: the rule ended at midnight
    return price_for(rider, tariff_on(day).night, day)


def is_working_day(day: date, holidays: frozenset[date] = frozenset()) -> bool:
    """Monday to Friday and no public holiday, whatever the desk's own hours are."""
    fixed = (day.month, day.day) in FIXED_HOLIDAYS
    return day.weekday() < 5 and not fixed and day not in holidays


@rule("Free on ferries off-peak; on trams off-peak only, two to a tram.")
@whole_cents
def bicycle_charge(line: Line, scheduled: datetime, folded: bool = False,
                   places: int = 1, holidays: frozenset[date] = frozenset()) -> int:
    """Charge for a bicycle, by the timetabled departure and not the real one.

    A boat that is half an hour late must not make a bicycle dearer. A tandem
    takes two places; a cargo bicycle three (two until 30 June 2024); a child's
    under 20 inches takes none and is charged like any other. A public
    holiday counts as a Sunday here, which the widget does not know; movable
    ones come in ``holidays``. That a tram ride may not run INTO a peak is for
    the driver to notice, not for us.

    >>> bicycle_charge(Line.F1, datetime(2025, 11, 11, 15, 59))   # a Tuesday
    0
    >>> bicycle_charge(Line.F1, datetime(2025, 11, 11, 16, 0))
    200
    >>> bicycle_charge(Line.F2, datetime(2025, 12, 26, 8, 0))     # a Friday
    0
    >>> bicycle_charge(Line.F2, datetime(2025, 4, 21, 8, 0),      # Easter Monday
    ...                holidays=frozenset({date(2025, 4, 21)}))
    0
    >>> bicycle_charge(Line.L4, datetime(2025, 11, 15, 8, 0))     # a Saturday
    0
    >>> bicycle_charge(Line.L4, datetime(2025, 11, 11, 8, 0))
    Traceback (most recent call last):
        ...
    fare_engine.NotCarried: no bicycles on line 4 at 08:00 on a weekday
    """
    if folded:                              # in a bag: luggage
        return 0
    if line is Line.F3:
        raise NotCarried("no bicycles to Lantern Rock: the reserve will not have them")
    clock = scheduled.time()
    in_peak = any(a <= clock < b for a, b in BICYCLE_PEAKS)
    if not (in_peak and is_working_day(scheduled.date(), holidays)):
        return 0
    if line.mode is Mode.TRAM:
        raise NotCarried(
            f"no bicycles on line {line.label} at {clock:%H:%M} on a weekday")
    return BICYCLE_PEAK * max(places, 1)


# --------------------------------------------------------------------------
# A day by card
# --------------------------------------------------------------------------

@dataclass(frozen=True)
class Boarding:
    line: Line
    at: datetime
    bicycle: bool = False


@dataclass
class Receipt:
    """What one boarding cost, in its parts. Only ``fare`` counts to the cap."""

    boarding: Boarding
    fare: int = 0
    supplement: int = 0
    night: int = 0
    bicycle: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.fare + self.supplement + self.night + self.bicycle


def price_day(rider: Rider, boardings: Iterable[Boarding],
              holidays: frozenset[date] = frozenset()) -> list[Receipt]:
    """Price the boardings of one card on one day of service.

    A ticket opened at 07:10 lets you board until 08:39:59, and the last
    boarding counts: what began in minute 89 may be finished. The cap covers
    fares. It does not cover the F1 supplement, which comes on top of a single
    and of a day ticket alike. At the piers ``at`` is the time at the gate. A
    ticket that a kiosk has marked "held" for weather never gets here: the
    kiosk sends the boarding with the time of the stamp.

    >>> at = lambda h, m: datetime(2025, 11, 11, h, m)
    >>> day = [Boarding(Line.L4, at(7, 10)), Boarding(Line.F1, at(8, 39)),
    ...        Boarding(Line.F1, at(13, 0)), Boarding(Line.L1, at(17, 0)),
    ...        Boarding(Line.L1, at(21, 0))]
    >>> [(r.fare, r.supplement) for r in price_day(Rider.ADULT, day)]
    [(280, 0), (0, 150), (280, 150), (180, 0), (0, 0)]
    >>> sum(r.total for r in price_day(Rider.CHILD, day))
    530
    """
    ordered = sorted(boardings, key=lambda b: b.at)
    if len({service_day(b.at) for b in ordered}) > 1:
        raise FareError("boardings of more than one day of service")
    receipts: list[Receipt] = []
    opened: datetime | None = None

    def spent() -> int:
        return sum(r.fare for r in receipts)

    def capped(single: int, cap: int) -> int:
        return min(single, max(0, cap - spent()))

    for boarding in ordered:
        day = service_day(boarding.at)
        receipt = Receipt(boarding)
        if opened is not None and boarding.at - opened < TRANSFER:
            receipt.notes.append(f"transfer on the ticket of {opened:%H:%M}")
        else:
            opened = boarding.at
            single = price_for(rider, tariff_on(day).single, day)
            receipt.fare = capped(single, price_for(rider, DAILY_CAP, day))
            receipt.night = night_supplement(rider, boarding.at)
            if receipt.fare < single:
                receipt.notes.append("daily cap")
        if boarding.line is Line.F1:
            receipt.supplement = price_for(rider, F1_SUPPLEMENT, day)
        if boarding.bicycle:
            receipt.bicycle = bicycle_charge(boarding.line, boarding.at,
                                             holidays=holidays)
        receipts.append(receipt)
    return receipts


# --------------------------------------------------------------------------
# Groups, refunds, penalties
# --------------------------------------------------------------------------

@rule("20 per cent off singles for ten people or more, by telephone.")
@whole_cents
def group_offer(day: date, ages: list[int], escorts: int = 0, crossings: int = 0) -> int:
    """One way, for an offer by telephone. ``escorts`` is for school classes only.

    Under-sixes cost nothing and still count towards the ten. A free escort
    pays no supplement either. A class of 26 nine-year-olds with three adults,
    to Tarn Island, before and after the ratio was changed:

    >>> group_offer(date(2025, 5, 20), [9] * 26, escorts=3, crossings=1)
    5366
    >>> group_offer(date(2024, 5, 21), [9] * 26, escorts=3, crossings=1)
    5740
    """
    if len(ages) + escorts < GROUP_MINIMUM:
        raise FareError("fewer than ten: ordinary tickets")
    tariff = tariff_on(day)
    paying = escorts - min(escorts, len(ages) // tariff.school_ratio)
    riders = [Rider.of_age(a) for a in ages] + [Rider.ADULT] * paying

    def sum_of(full: int) -> int:
        return sum(price_for(r, full, day) for r in riders)

    singles = sum_of(tariff.single) * (100 - GROUP_DISCOUNT) // 100
    return singles + crossings * sum_of(F1_SUPPLEMENT)


@rule("50 % from 20 minutes, 100 % from 45, at the stop where you got off.")
@whole_cents
def delay_refund(receipt: Receipt, late: timedelta, claimed: date,
                 rider: Rider = Rider.ADULT) -> int:
    """Cents to pay back; weather counts like any other cause.

    A trip with changes is one trip: the caller adds up its receipts first.
    Seconds are cut off: 19 minutes and 50 seconds is 19 minutes. The day of
    the trip is not counted in the 28. A bicycle ticket is not paid back.

    Halves go up to the next cent for trips since 9 May 2025 (ruling of Piet
    Aldana); until 8 May they went up to the next five cents. A ride that the
    cap had made free was worth nothing until 8 May 2025 and since the 9th
    counts as a single at that day's price. A transfer does not.

    >>> ride = Receipt(Boarding(Line.F1, datetime(2025, 10, 6, 18, 0)), 280, 150)
    >>> minutes = lambda m, s=0: timedelta(minutes=m, seconds=s)
    >>> [delay_refund(ride, minutes(*m), date(2025, 11, 3))
    ...  for m in ((19, 50), (20,), (44, 59), (45,))]
    [0, 215, 215, 430]
    >>> delay_refund(ride, minutes(60), date(2025, 11, 4))
    0
    >>> on_pass = lambda d: Receipt(Boarding(Line.L1, datetime(2025, 5, d, 8, 0)), 145)
    >>> [delay_refund(on_pass(d), minutes(20), date(2025, 5, 20)) for d in (8, 9)]
    [75, 73]
    """
    day = service_day(receipt.boarding.at)
    if (claimed - day).days > REFUND_CLAIM_DAYS:
        return 0
    basis = receipt.total - receipt.bicycle
    if "daily cap" in receipt.notes and day >= REFUND_RULING:
        basis += price_for(rider, tariff_on(day).single, day) - receipt.fare
    whole_minutes = int(late.total_seconds()) // 60
    for minutes, per_cent in REFUND_STEPS:
        if whole_minutes >= minutes:
            step = 5 if per_cent < 100 and day < REFUND_RULING else 1
            return -(-basis * per_cent // (100 * step)) * step
    return 0


@rule("60 euro; 30 if paid within 14 days of the date printed on the slip.")
@whole_cents
def penalty_due(slip: date, paid: date, pass_shown: date | None = None,
                holidays: frozenset[date] = frozenset()) -> int:
    """
    >>> penalty_due(date(2025, 11, 3), date(2025, 11, 17))
    3000
    >>> penalty_due(date(2025, 11, 3), date(2025, 11, 18))
    6000
    >>> penalty_due(date(2025, 11, 7), date(2025, 11, 14), date(2025, 11, 14))
    400
    """
    if pass_shown is not None:
        days = (slip + timedelta(n) for n in range(1, (pass_shown - slip).days + 1))
        if sum(is_working_day(d, holidays) for d in days) <= FORGOTTEN_PASS_DAYS:
            return FORGOTTEN_PASS_FEE
    early = (paid - slip).days <= PENALTY_EARLY_DAYS
    return PENALTY_FARE_EARLY if early else PENALTY_FARE


def euros(cents: int) -> str:
    """
    >>> euros(5366)
    '€53.66'
    """
    return f"€{cents // 100}.{cents % 100:02d}"


_check_tables()

if __name__ == "__main__":
    for name, reason in RULES.items():
        print(f"{name:18} {reason}")
