/**
 * What should be so of a call session, worked out anew from everything that was ever heard of it, by the words of the
 * specification: its state is the farthest that anybody spoke of, and its lease is found by looking back for what
 * renewed it. No state is kept but its end, and nothing is shared with the machine it judges.
 */
import type { CallSide, ReportedState } from '../../src/model/call.ts';

const states = ['issued', 'establishing', 'ringing', 'attempting', 'connected'] as const;

export type CallFact = { readonly ms: number; readonly wallMs: number } & (
  | { readonly what: 'issued'; readonly timeoutS: number; readonly media: string; readonly key: string }
  /** `token`: of a device. */
  | { readonly what: 'connected'; readonly side: CallSide; readonly token: string }
  | { readonly what: 'said'; readonly state: ReportedState }
  | { readonly what: 'seen'; readonly by: 'media' | 'ping' }
  /** Its process is gone, and another has found its record. */
  | { readonly what: 'restarted' }
);

type Issued = Extract<CallFact, { readonly what: 'issued' }>;

/** Names and values as in a session's record, but for the orders. */
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
  /** Why it has ended; null: it lives. */
  over: string | null = null;

  hear(fact: CallFact): void {
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

  /** Why it should have ended by now, if nothing but time ends it; null: it lives. */
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

  /** What backends should have been told of it, in order. */
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

  /** The report with which it began to ring, if it rang before it was connected. */
  #ring(): CallFact | null {
    const first = this.facts.find((fact) => rankOf(fact) >= 2);
    return first === undefined || rankOf(first) === 4 ? null : first;
  }

  /** That of the latest issuance, but no later one than its ringing. */
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

  /** A lease that began with the fact at `place`; each restart since has asked the wall clock what is left of it. */
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
