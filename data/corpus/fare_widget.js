/**
 * fare_widget.js: the "What will it cost?" box on the pages of Merrow Sound Transit.
 *
 * No framework, no JSX, no build step. One <div data-fare-widget> on the page is enough.
 * The prices in here are a COPY of fare_engine.py and are shown, never charged. If the
 * two differ, the engine is right, except where a note below says that we know and why.
 *
 * Anneke Brill, web and kiosks. Copied from the engine on 2 April 2024.
 */

export const SINGLE_CENTS = 280;
export const DAY_CAP_CENTS = 740;
export const F1_SUPPLEMENT_CENTS = 150;
export const BICYCLE_PEAK_CENTS = 200;
export const TRANSFER_MINUTES = 90;
export const CHILD_STEP_CENTS = 10; // was 5 until 31 March 2024, to the nearest
export const GROUP_MINIMUM = 10;

// 2022-10-17: from the winter leaflet. OUT OF DATE since 1 January 2023, when the evening
// peak was moved to 16:00 (see BICYCLE_PEAKS in the engine). Left as it is: between 15:30
// and 16:00 the box shows €2.00 for a boat that is free, and nobody has complained. FARE-231.
const BICYCLE_PEAKS = [
  ["07:00", "09:00"],
  ["15:30", "18:30"],
];

const REFUND_STEPS = [
  { minutes: 45, percent: 100 },
  { minutes: 20, percent: 50 },
];

const TIME = /^(?<h>[01]?\d|2[0-3])[:.](?<m>[0-5]\d)$/;
const LINE = /^(?:line\s*)?(?<tram>[1247])$|^(?<ferry>F[123])$/i;
// One slip number is two letters of the inspector, the date, and a running number
// with a check letter: "KO-20251103-0417R". The old blue slips (to 30 June 2023) had
// no letter at the end; the desk still takes them and so do we.
const SLIP = /^(?<who>[A-Z]{2})-(?<date>20\d{6})-(?<no>\d{4})(?<check>[A-HJ-NP-Z])?$/u;

/** A number of cents as people read it: 280 gives "€2.80". */
export const formatEuro = (cents) => `€${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`;

export function parseTime(text) {
  const hit = TIME.exec(text.trim());
  if (!hit) throw new RangeError(`not a time: ${JSON.stringify(text)}`);
  return Number(hit.groups.h) * 60 + Number(hit.groups.m);
}

export function parseLine(text) {
  const hit = LINE.exec(text.trim());
  if (!hit) return null; // 3, 5 and 6 end here, and that is intended
  return (hit.groups.tram ?? hit.groups.ferry).toUpperCase();
}

export function parseSlip(text) {
  const hit = SLIP.exec(text.trim().toUpperCase());
  if (!hit) return null;
  const { date, ...rest } = hit.groups;
  const iso = date.replace(/(\d{4})(\d{2})(\d{2})/, "$1-$2-$3");
  return { ...rest, printed: new Date(`${iso}T12:00:00`) }; // noon, because of summer time
}

/** Half price, up to the next ten cents. Under six it is nothing at all. */
export function childPrice(cents, age) {
  if (age < 6) return 0;
  if (age >= 15) return cents;
  return Math.ceil(cents / 2 / CHILD_STEP_CENTS) * CHILD_STEP_CENTS;
}

/** Cents for a bicycle, or null where it may not come along. */
export function bicycleCharge(line, weekday, clock) {
  const now = parseTime(clock);
  const onWeekday = weekday >= 1 && weekday <= 5; // Date#getDay: Sunday is 0; holidays unknown
  const peak = onWeekday && BICYCLE_PEAKS.some(([a, b]) => parseTime(a) <= now && now < parseTime(b));
  if (!peak) return 0;
  return line.startsWith("F") ? BICYCLE_PEAK_CENTS : null;
}

/**
 * The share that comes back, in per cent. `seconds` is what the stop display measured.
 *
 * 2024-11-25: the display rounds, so we round. The engine cuts seconds off, and since
 * 9 May 2025 the refund form says so in print: 19 min 40 s is NOT twenty minutes. The
 * rounding here is therefore wrong from that day, and goes when the new box comes.
 */
export function refundShare(seconds) {
  const minutes = Math.round(seconds / 60);
  return REFUND_STEPS.find((step) => minutes >= step.minutes)?.percent ?? 0;
}

/** What is due on a penalty fare today. Day 14 still counts as early. */
export function penaltyDue(printed, today = new Date()) {
  const days = Math.floor((today - printed) / 86_400_000 + 0.5);
  return days <= 14 ? 3000 : 6000;
}

/** Build an element: el("button", { class: "go", onclick: f }, "Go", el("b", {}, "!")). */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  // Strings become text nodes and never markup. A stop once came back from the API
  // as "Tanner's Row <b>new</b>", and I would like that to be the worst of it.
  node.append(...children.flat(Infinity).filter((c) => c != null && c !== false));
  return node;
}

class Journey {
  #boardings = [];

  add(line, clock) {
    const label = parseLine(line);
    if (label === null) throw new RangeError(`no line ${line}`);
    this.#boardings.push({ line: label, minute: parseTime(clock) });
    this.#boardings.sort((a, b) => a.minute - b.minute);
    return this;
  }

  get size() {
    return this.#boardings.length;
  }

  /** Price of everything, as rows for the table. Same order of things as price_day(). */
  *rows(age) {
    const single = childPrice(SINGLE_CENTS, age);
    const cap = childPrice(DAY_CAP_CENTS, age);
    let opened = -Infinity;
    let spent = 0;
    for (const { line, minute } of this.#boardings) {
      let fare = 0;
      if (minute - opened >= TRANSFER_MINUTES) {
        opened = minute;
        fare = Math.min(single, cap - spent);
        spent += fare;
      }
      const supplement = line === "F1" ? childPrice(F1_SUPPLEMENT_CENTS, age) : 0;
      yield { line, minute, fare, supplement };
    }
  }

  total(age) {
    return [...this.rows(age)].reduce((sum, r) => sum + r.fare + r.supplement, 0);
  }
}

export class FareWidget {
  static selector = "[data-fare-widget]";

  #root;
  #journey = new Journey();
  #message = "";
  #age = 30;

  constructor(root) {
    this.#root = root;
    this.#render();
  }

  static mountAll(scope = document) {
    return [...scope.querySelectorAll(FareWidget.selector)].map((root) => new FareWidget(root));
  }

  #onSubmit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    this.#age = Number(form.get("age") || 30);
    try {
      this.#journey.add(String(form.get("line")), String(form.get("clock")));
      this.#message = "";
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#message = `${error.message}. Lines are 1, 2, 4, 7 and F1 to F3; times look like 07:10.`;
    }
    this.#render();
  };

  #row = ({ line, minute, fare, supplement }) =>
    el(
      "tr",
      { dataset: { line } },
      el("td", {}, `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`),
      el("td", {}, line),
      el("td", {}, fare === 0 ? "change, or cap reached" : formatEuro(fare)),
      el("td", {}, supplement > 0 && `+ ${formatEuro(supplement)} Tarn Island`),
    );

  #render() {
    const age = this.#age;
    const rows = [...this.#journey.rows(age)].map(this.#row);
    this.#root.replaceChildren(
      el(
        "form",
        { onsubmit: this.#onSubmit, novalidate: true },
        el("label", {}, "Line ", el("input", { name: "line", size: 3, required: true })),
        el("label", {}, "at ", el("input", { name: "clock", size: 5, placeholder: "07:10" })),
        el("label", {}, "Age ", el("input", { name: "age", type: "number", min: 0, value: age })),
        el("button", { type: "submit" }, "Add this ride"),
      ),
      el("p", { role: "alert", hidden: !this.#message }, this.#message),
      el("table", { hidden: rows.length === 0 }, rows),
      el("p", { class: "total" }, `Together ${formatEuro(this.#journey.total(age))} by card.`),
      el("small", {}, `From ${GROUP_MINIMUM} people on, ring 0900 555 014: 20 % off the singles.`),
    );
  }
}

if (typeof document !== "undefined") FareWidget.mountAll();
