/**
 * What should be so of the calls of a few devices and their legs, by the words of the specification: which session an
 * issuance is answered for, whose word counts, who is told what and who is closed. Each call is judged by everything
 * that was ever heard of it (naive-calls.ts).
 */
import type { CallReport, CallSide } from '../../src/model/call.ts';
import { NaiveCall } from './naive-calls.ts';

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
  readonly told: string[] = [];
  /** Why the server closed it while its call lived; null: it did not. */
  closed: string | null = null;
  /** It went by itself, or with its process. */
  isGone = false;

  constructor(call: ServerCall, side: CallSide) {
    this.call = call;
    this.side = side;
  }

  /** All that it should have heard. */
  words(): string[] {
    if (this.closed !== null) return [...this.told, `closed ${this.closed}`];
    const { over, endedBy } = this.call;
    if (this.isGone || over === null) return this.told;
    return [...this.told, ...(endedBy === this ? [] : [`ended ${over}`]), 'closed ended'];
  }
}

export class ServerCall extends NaiveCall {
  readonly device: string;
  readonly room: string;
  readonly legs: NaiveLeg[] = [];
  endedBy: NaiveLeg | null = null;
  /** When its lease was over, if that ended it. */
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
  /** All there ever were, in the order of their making. */
  readonly calls: ServerCall[] = [];
  readonly reports = { taken: 0, repeated: 0, stray: 0 };

  live(): ServerCall[] {
    return this.calls.filter(({ over }) => over === null);
  }

  /** Before anything else is said of this moment: leases that are over by now end their calls. */
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
    call.hear({ what: 'issued', timeoutS, media, key, ...now });
    return { kind, call };
  }

  /** Null: it finds no live session. */
  connect(call: ServerCall, side: CallSide, token: string, now: Instant): NaiveLeg | null {
    if (call.over !== null) return null;
    if (side === 'device')
      for (const other of this.live())
        if (other.device === call.device && other !== call) other.end('replaced');
    const previous = call.current(side);
    if (previous !== null) previous.closed = 'replaced';
    const leg = new NaiveLeg(call, side);
    call.legs.push(leg);
    call.hear({ what: 'connected', side, token, ...now });
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
      call.hear({ what: 'said', state: report.state, ...now });
      this.reports[call.state === before ? 'repeated' : 'taken'] += 1;
      const other = call.current(leg.side === 'device' ? 'bridge' : 'device');
      if (call.state !== before) other?.told.push(call.state);
    }
  }

  see(leg: NaiveLeg, by: 'media' | 'ping', now: Instant): void {
    if (isHeard(leg)) leg.call.hear({ what: 'seen', by, ...now });
  }

  /** `isFound`: whether the server still has the call, whose lease may be over without its having noticed. */
  leave(leg: NaiveLeg, isFound: boolean): void {
    if (isFound && leg.call.current(leg.side) === leg) leg.isGone = true;
  }

  drain(isFound: (call: ServerCall) => boolean): void {
    for (const call of this.calls.filter(isFound))
      for (const leg of call.legs) if (call.current(leg.side) === leg) leg.closed = 'drain';
  }

  /** `isKept`: the store holds it. A call whose lease was over, unnoticed, is taken up like the others. */
  restart(isKept: (call: ServerCall) => boolean, now: Instant): void {
    for (const call of this.calls.filter(isKept)) {
      for (const leg of call.legs) leg.isGone ||= leg.closed === null;
      call.over = null;
      call.ranOutAtMs = null;
      call.hear({ what: 'restarted', ...now });
    }
  }
}

/** It is its call's own leg of this side, and the call lives. */
export function isHeard(leg: NaiveLeg): boolean {
  return leg.call.over === null && leg.call.current(leg.side) === leg;
}
