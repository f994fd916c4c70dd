/**
 * A naive model of the calls of a few devices and their legs, by the words of the specification, for the walks to check
 * against. It recomputes a session from all facts about it: its state is the farthest that was reported, and its lease follows
 * from the last fact that renewed it. It keeps no state except the end, and shares nothing with the state machines under test.
 * Inputs from the server: the session that an issuance is answered for, the legs whose reports count, and the legs that are
 * notified and closed.
 */
import type { CallSide, ReportedState, CallReport } from '../../src/model/call.ts';

const states = ['issued', 'establishing', 'ringing', 'attempting', 'connected'] as const;

type CallFact = { readonly ms: number; readonly wallMs: number } & (
  | { readonly what: 'issued'; readonly timeoutS: number; readonly media: string; readonly key: string }
  /** `token`: for a device. */
  | { readonly what: 'connected'; readonly side: CallSide; readonly token: string }
  | { readonly what: 'said'; readonly state: ReportedState }
  | { readonly what: 'seen'; readonly by: 'media' | 'ping' }
  /** The process died, and another one has read the record. */
  | { readonly what: 'restarted' }
);

type Issued = Extract<CallFact, { readonly what: 'issued' }>;

/** Names and values as in a session's record, except for the orders. */
export interface ExpectedSession {
  readonly state: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly ringsFromMs: number | null;
  readonly callingTimeoutS: number;
  readonly hasSeenDevice: boolean;
  readonly hasSeenBridge: boolean;
  readonly connectedTokens: readonly string[];
  readonly media: string;
  readonly key: string;
}

export class NaiveCall {
  readonly facts: CallFact[] = [];
  /** Reason of its end; null: live. */
  over: string | null = null;

  recordFact(fact: CallFact): void {
    this.facts.push(fact);
  }

  get state(): (typeof states)[number] {
    return states[Math.max(...this.facts.map(rankOf))] ?? 'issued';
  }

  get isInCall(): boolean {
    return this.over === null && this.state !== 'issued';
  }

  get media(): string {
    return this.#issuance().media;
  }

  /** Reason for which it should have ended by now if only time passes; null: live. */
  runsOutBy(nowMs: number): 'lost' | 'timeout' | null {
    if (nowMs < this.deadlineMs()) return null;
    return this.state === 'establishing' || this.state === 'connected' ? 'lost' : 'timeout';
  }

  deadlineMs(): number {
    const { facts } = this;
    switch (this.state) {
      case 'issued': {
        const { timeoutS } = this.#issuance();
        const place = facts.findLastIndex(({ what }) => what === 'issued');
        return this.#byTheWall(place, this.#expiresAtMs(), (timeoutS + 60) * 1000);
      }
      case 'ringing':
      case 'attempting': {
        const wholeMs = this.#timeoutS() * 1000 + 5000;
        const place = facts.findIndex((fact) => rankOf(fact) >= 2);
        return this.#byTheWall(place, (facts[place]?.wallMs ?? NaN) + wholeMs, wholeMs);
      }
      case 'establishing':
        return this.#last((fact) => this.#isNewsInEstablishing(fact)) + 35_000;
      case 'connected':
        return this.#last(({ what }) => what === 'said' || what === 'seen' || what === 'restarted') + 60_000;
    }
  }

  session(): ExpectedSession {
    const seen = (side: CallSide): boolean => this.facts.some((fact) => isConnect(fact, side));
    const tokens = this.facts.flatMap((fact) => (isConnect(fact, 'device') ? fact.token : []));
    const { media, key } = this.#issuance();
    return {
      state: this.state,
      createdAtMs: this.facts[0]?.wallMs ?? NaN,
      expiresAtMs: this.#expiresAtMs(),
      ringsFromMs: this.#ring()?.wallMs ?? null,
      callingTimeoutS: this.#timeoutS(),
      hasSeenDevice: seen('device'),
      hasSeenBridge: seen('bridge'),
      connectedTokens: tokens.filter((token, i) => !tokens.includes(token, i + 1)).slice(-4),
      media,
      key,
    };
  }

  /** Words of the events that backends should have received, in order. */
  words(): string[] {
    const words: string[] = [];
    let farthest = 0;
    for (const rank of this.facts.map(rankOf)) {
      if (rank > farthest) words.push(`${farthest === 0 ? 'started' : 'state'} ${states[rank]}`);
      farthest = Math.max(farthest, rank);
    }
    return this.over === null ? words : [...words, `ended ${this.over}`];
  }

  #issuance(): Issued {
    const issued = this.facts.findLast((fact) => fact.what === 'issued');
    if (issued === undefined) throw new Error('a session begins with its issuance');
    return issued;
  }

  #expiresAtMs(): number {
    const { wallMs, timeoutS } = this.#issuance();
    return (Math.floor(wallMs / 1000) + timeoutS + 60) * 1000;
  }

  /** The report that started ringing, if it rang before it was connected. */
  #ring(): CallFact | null {
    const first = this.facts.find((fact) => rankOf(fact) >= 2);
    return first === undefined || rankOf(first) === 4 ? null : first;
  }

  /** Ring timeout of the latest issuance, but of none after the ringing began. */
  #timeoutS(): number {
    const ring = this.#ring();
    const known = ring === null ? this.facts : this.facts.slice(0, this.facts.indexOf(ring));
    return known.findLast((fact) => fact.what === 'issued')?.timeoutS ?? NaN;
  }

  #isNewsInEstablishing(fact: CallFact): boolean {
    if (fact.what === 'connected')
      return this.facts.find((earlier) => isConnect(earlier, fact.side)) === fact;
    return fact.what === 'restarted' || (fact.what === 'seen' && fact.by === 'media');
  }

  #last(isNews: (fact: CallFact) => boolean): number {
    return this.facts.findLast(isNews)?.ms ?? NaN;
  }

  /** End of a lease that began with the fact at `place`; each restart since has recomputed the remainder by the wall clock. */
  #byTheWall(place: number, endsAtMs: number, wholeMs: number): number {
    const asked = this.facts.findLast((fact, i) => i === place || (i > place && fact.what === 'restarted'));
    if (asked === undefined) return NaN;
    return asked.ms + Math.min(Math.max(0, endsAtMs - asked.wallMs), wholeMs);
  }
}

function rankOf(fact: CallFact): number {
  if (fact.what === 'said') return states.indexOf(fact.state);
  return fact.what === 'connected' ? 1 : 0;
}

function isConnect(
  fact: CallFact,
  side: CallSide,
): fact is Extract<CallFact, { readonly what: 'connected' }> {
  return fact.what === 'connected' && fact.side === side;
}

export interface Instant {
  readonly ms: number;
  readonly wallMs: number;
}

export interface Order {
  readonly device: string;
  /** Application and room. */
  readonly room: string;
  readonly media: string;
  readonly timeoutS: number;
  readonly key: string;
}

export class NaiveLeg {
  readonly call: ServerCall;
  readonly side: CallSide;
  readonly messages: string[] = [];
  /** Reason for which the server closed it while its call lived; null: it did not. */
  closed: string | null = null;
  /** True: it disconnected, or its process died. */
  isGone = false;

  constructor(call: ServerCall, side: CallSide) {
    this.call = call;
    this.side = side;
  }

  /** Words of all messages that it should have received. */
  words(): string[] {
    if (this.closed !== null) return [...this.messages, `closed ${this.closed}`];
    const { over, endedBy } = this.call;
    if (this.isGone || over === null) return this.messages;
    return [...this.messages, ...(endedBy === this ? [] : [`ended ${over}`]), 'closed ended'];
  }
}

export class ServerCall extends NaiveCall {
  readonly device: string;
  readonly room: string;
  readonly legs: NaiveLeg[] = [];
  endedBy: NaiveLeg | null = null;
  /** Time at which its lease expired, if that ended it. */
  ranOutAtMs: number | null = null;

  constructor({ device, room }: Order) {
    super();
    this.device = device;
    this.room = room;
  }

  current(side: CallSide): NaiveLeg | null {
    const latest = this.legs.findLast((leg) => leg.side === side);
    return latest === undefined || latest.isGone || latest.closed !== null ? null : latest;
  }

  end(why: string, by: NaiveLeg | null = null): void {
    this.over = why;
    this.endedBy = by;
  }
}

export class NaiveCallServer {
  /** All calls in order of creation. */
  readonly calls: ServerCall[] = [];
  readonly reports = { taken: 0, repeated: 0, stray: 0 };

  live(): ServerCall[] {
    return this.calls.filter(({ over }) => over === null);
  }

  /** Call this first at each moment: expired leases end their calls. */
  reach(now: Instant): void {
    for (const call of this.live()) {
      const why = call.runsOutBy(now.ms);
      if (why === null) continue;
      call.ranOutAtMs = call.deadlineMs();
      call.end(why);
    }
  }

  issue(order: Order, now: Instant): { readonly kind: string; readonly call: ServerCall | null } {
    const mine = this.live().filter(({ device }) => device === order.device);
    const same = mine.find(({ room }) => room === order.room) ?? null;
    if (same !== null && same.media !== order.media && same.state !== 'issued')
      return { kind: 'media_in_use', call: null };
    const oldest = mine.find(({ state }) => state === 'issued');
    if (same === null && mine.length === 4) {
      if (oldest === undefined) return { kind: 'full', call: null };
      oldest.end('replaced');
    }
    const kind = same === null ? 'issued' : same.media === order.media ? 'renewed' : 'changed';
    const call = same ?? new ServerCall(order);
    if (same === null) this.calls.push(call);
    const { timeoutS, media, key } = order;
    call.recordFact({ what: 'issued', timeoutS, media, key, ...now });
    return { kind, call };
  }

  /** Connects a leg. Null: there is no live session. */
  connect(call: ServerCall, side: CallSide, token: string, now: Instant): NaiveLeg | null {
    if (call.over !== null) return null;
    if (side === 'device')
      for (const other of this.live())
        if (other.device === call.device && other !== call) other.end('replaced');
    const previous = call.current(side);
    if (previous !== null) previous.closed = 'replaced';
    const leg = new NaiveLeg(call, side);
    call.legs.push(leg);
    call.recordFact({ what: 'connected', side, token, ...now });
    return leg;
  }

  report(leg: NaiveLeg, report: CallReport, now: Instant): void {
    const { call } = leg;
    if (!isHeard(leg)) this.reports.stray += 1;
    else if (report.kind === 'end') {
      this.reports.taken += 1;
      call.end(report.reason, leg);
    } else {
      const before = call.state;
      call.recordFact({ what: 'said', state: report.state, ...now });
      this.reports[call.state === before ? 'repeated' : 'taken'] += 1;
      const other = call.current(leg.side === 'device' ? 'bridge' : 'device');
      if (call.state !== before) other?.messages.push(call.state);
    }
  }

  see(leg: NaiveLeg, by: 'media' | 'ping', now: Instant): void {
    if (isHeard(leg)) leg.call.recordFact({ what: 'seen', by, ...now });
  }

  /** `isFound`: the server still has the call; it may not have noticed that the lease expired. */
  leave(leg: NaiveLeg, isFound: boolean): void {
    if (isFound && leg.call.current(leg.side) === leg) leg.isGone = true;
  }

  drain(isFound: (call: ServerCall) => boolean): void {
    for (const call of this.calls.filter(isFound))
      for (const leg of call.legs) if (call.current(leg.side) === leg) leg.closed = 'drain';
  }

  /** `isKept`: the store has the call. A call whose expired lease was not noticed is adopted like the others. */
  restart(isKept: (call: ServerCall) => boolean, now: Instant): void {
    for (const call of this.calls.filter(isKept)) {
      for (const leg of call.legs) leg.isGone ||= leg.closed === null;
      call.over = null;
      call.ranOutAtMs = null;
      call.recordFact({ what: 'restarted', ...now });
    }
  }
}

/** True: it is the current leg of this side, and the call lives. */
export function isHeard(leg: NaiveLeg): boolean {
  return leg.call.over === null && leg.call.current(leg.side) === leg;
}
