/**
 * Types for the public API of Merrow Sound Transit, version 3, with a small client.
 *
 * Two replies are covered: /v3/departures (api_departures.json is one of them, from a
 * Tuesday in November 2025) and /v3/fares (api_fares.json). Amounts are whole cents.
 * Times are local to Port Ellery and carry no offset; the server has no idea where you are.
 *
 * Version 2 was switched off on 3 February 2025. Anything marked "v2" in here is kept
 * because two hotel screens still send us the old shape out of their caches.
 */

export enum Rider {
  Free = "free", // under six
  Child = "child", // 6 to 14
  Adult = "adult",
}

export enum ProductCode {
  Single = "SINGLE",
  Day = "DAY",
  DailyCap = "DAILY_CAP",
  TenRide = "TEN_RIDE",
  Monthly = "MONTHLY",
  F1Supplement = "F1_SUPPLEMENT",
  Night = "NIGHT_SUPPLEMENT", // withdrawn on 1 September 2023, still in the reply
  BicyclePeak = "BICYCLE_PEAK",
  Group = "GROUP_OFFER",
  Penalty = "PENALTY_FARE",
}

export type TramLine = "1" | "2" | "4" | "7";
export type FerryLine = "F1" | "F2" | "F3";
export type LineLabel = TramLine | FerryLine;
export type Language = "en" | "de" | "fr" | "ja" | "th" | "ar";
export type Translated = { readonly en: string } & { readonly [L in Language]?: string };

/** A plain number will not do: somebody passed euros once, and sold day tickets at 7 cents. */
export type Cents = number & { readonly __unit: "cents" };
export type IsoDate = `${number}-${number}-${number}`;
export type LocalTime = `${IsoDate}T${string}`;

export const cents = (n: number): Cents => {
  if (!Number.isInteger(n) || n < 0) throw new RangeError(`not cents: ${n}`);
  return n as Cents;
};

export const TRANSFER_MINUTES = 90;
export const REFUND_CLAIM_DAYS = 28;
export const DAY_CAP_CENTS = cents(740);
export const F1_SUPPLEMENT_CENTS = cents(150);

/**
 * Shown when the API cannot be reached.
 * 2023-09-04: single and pass typed in by hand from the notice of that week.
 * The single was put right on 2 April 2024 (260 before). The pass was forgotten: 5400 is
 * the price up to 31 March 2024, and the engine has charged 5800 since the day after.
 */
export const FALLBACK_SINGLE_CENTS = cents(280);
export const FALLBACK_MONTHLY_PASS_CENTS = cents(5400);

export interface Validity {
  readonly from: IsoDate;
  readonly until: IsoDate | null; // last day, INCLUDED. In v2 it was the first day after.
}

export interface Price {
  readonly amount: { readonly cents: number; readonly currency: "EUR" };
  readonly conditions: readonly Condition[];
}

export interface Condition {
  readonly type: string;
  readonly rule: Readonly<Record<string, unknown>>;
  readonly text?: Translated;
  readonly exceptions?: readonly Condition[];
}

export interface Period<R extends Rider = Rider> {
  readonly validity: Validity;
  readonly status: "in_force" | "superseded" | "withdrawn";
  readonly prices: Partial<Record<R, Price>>;
}

export interface Product<C extends ProductCode = ProductCode> {
  readonly id: `mst:product:${string}`;
  readonly code: C;
  readonly names: Translated;
  readonly periods: readonly Period[];
  readonly conditions: readonly Condition[];
}

export interface Realtime {
  readonly expected: LocalTime | null; // null: no signal from the vehicle, not "on time"
  readonly delaySeconds: number | null;
  readonly state: "scheduled" | "running" | "at_stop" | "cancelled" | "held";
}

export interface Departure<L extends LineLabel = LineLabel> {
  readonly id: string;
  readonly line: { readonly id: string; readonly label: L };
  readonly towards: { readonly stopId: string; readonly name: string };
  readonly scheduled: LocalTime;
  readonly realtime: Realtime;
  readonly vehicle: { readonly class: string; readonly number: number | string } | null;
  readonly notes: readonly { readonly code: string; readonly text: Translated }[];
}

export interface Platform {
  readonly id: string;
  readonly label: string | null;
  readonly departures: readonly Departure[];
}

export interface DeparturesReply {
  readonly api: { readonly version: `3.${number}`; readonly generated: LocalTime };
  readonly stops: readonly {
    readonly id: string;
    readonly name: string;
    readonly platforms: readonly Platform[];
  }[];
  readonly alerts: readonly { readonly id: string; readonly title: Translated }[];
}

export interface ApiError {
  readonly error: { readonly status: number; readonly reason: string };
}

// ---------------------------------------------------------------- type guards

const isObject = (x: unknown): x is Record<string, unknown> =>
  typeof x === "object" && x !== null && !Array.isArray(x);

export const isApiError = (x: unknown): x is ApiError =>
  isObject(x) && isObject(x.error) && typeof x.error.status === "number";

export const isFerry = (d: Departure): d is Departure<FerryLine> => d.line.label.startsWith("F");

export const isDeparturesReply = (x: unknown): x is DeparturesReply =>
  isObject(x) && isObject(x.api) && String(x.api.version).startsWith("3.") && Array.isArray(x.stops);

/** The fares reply is a bare list. An empty one is a fault on our side: we always sell something. */
export const isFaresReply = (x: unknown): x is Product[] =>
  Array.isArray(x) && x.length > 0 && x.every((p) => isObject(p) && Array.isArray(p.periods));

export function hasCode<C extends ProductCode>(code: C) {
  return (p: Product): p is Product<C> => p.code === code;
}

// ---------------------------------------------------------------- prices

const covers = ({ from, until }: Validity, day: IsoDate): boolean =>
  from <= day && (until === null || day <= until); // ISO dates sort as text

/** Half, to the next ten cents from 1 April 2024; until the day before, to the nearest five. */
export function childPrice(full: Cents, day: IsoDate): Cents {
  const half = full / 2;
  return cents(day >= "2024-04-01" ? Math.ceil(half / 10) * 10 : Math.round(half / 5) * 5);
}

/** Without a rider: all prices of that day. With one: the amount, or undefined if not sold. */
export function priceOn(product: Product, day: IsoDate): Period["prices"] | undefined;
export function priceOn(product: Product, day: IsoDate, rider: Rider): Cents | undefined;
export function priceOn(product: Product, day: IsoDate, rider?: Rider) {
  const prices = product.periods.find((p) => covers(p.validity, day))?.prices;
  if (rider === undefined) return prices;
  if (rider === Rider.Free) return cents(0);
  const price = prices?.[rider];
  return price && cents(price.amount.cents);
}

/**
 * May this boarding use the ticket opened earlier? Both in minutes of the day of service.
 * 2024-06-20: minute 90 itself is out. It was let in until 19 June 2024, as the old
 * gates at Old Quay Pier knew no seconds; the engine had always refused it.
 */
export const isTransfer = (opened: number, boarded: number): boolean =>
  boarded >= opened && boarded - opened < TRANSFER_MINUTES;

// ---------------------------------------------------------------- client

export class MstError extends Error {
  constructor(
    readonly status: number,
    reason: string,
  ) {
    super(`${status}: ${reason}`);
  }
}

export class FareClient {
  constructor(
    private readonly base: URL,
    private readonly language: Language = "en",
  ) {}

  private async get<T>(path: string, guard: (x: unknown) => x is T): Promise<T> {
    const url = new URL(path, this.base);
    const reply = await fetch(url, { headers: { "Accept-Language": this.language } });
    const body: unknown = await reply.json();
    if (isApiError(body)) throw new MstError(body.error.status, body.error.reason);
    if (!guard(body)) throw new MstError(502, `unexpected shape from ${url.pathname}`);
    return body;
  }

  /** Departures of one stop, or of the whole network; cancelled ones are left in on purpose. */
  departures(): Promise<DeparturesReply>;
  departures(stopId: string): Promise<Departure[]>;
  async departures(stopId?: string): Promise<DeparturesReply | Departure[]> {
    const path = stopId ? `/v3/departures?stop=${encodeURIComponent(stopId)}` : "/v3/departures";
    const reply = await this.get(path, isDeparturesReply);
    if (stopId === undefined) return reply;
    return reply.stops.flatMap((s) => s.platforms).flatMap((p) => [...p.departures]);
  }

  async price<C extends ProductCode>(code: C, day: IsoDate, rider = Rider.Adult): Promise<Cents> {
    const product = (await this.get("/v3/fares", isFaresReply)).find(hasCode(code));
    const amount = product && priceOn(product, day, rider);
    if (amount === undefined) throw new MstError(404, `${code} is not sold on ${day}`);
    return amount;
  }

  say(text: Translated): string {
    return text[this.language] ?? text.en;
  }
}
