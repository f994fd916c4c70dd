/**
 * Reconstructs a device's past from its events: when it slept, was online, was woken or in a call, and when and why it was
 * offline. Session ids identify sessions, so that a late end of an older one does not end its successor. Periods whose beginning
 * is not among the events are unknown, not offline.
 */
import { callReason, sessionReason } from './reasons.ts';

export interface PastEvent {
  readonly type: string;
  readonly at: string;
  readonly seq: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Wall milliseconds. */
export interface Period {
  readonly fromMs: number;
  /** Null: it has not ended. */
  readonly toMs: number | null;
  /** The reason of the end, in words; empty if it has not ended. */
  readonly ending: string;
}

export interface PastWakeup {
  readonly requestId: string;
  readonly acceptedMs: number;
  /** Null: the wakeup waits for its outcome. */
  readonly settledMs: number | null;
  readonly outcome: 'woke' | 'did not wake' | 'module lost' | 'waiting';
  /** Null: the device did not wake. */
  readonly wokeAfterMs: number | null;
}

export type Past = Readonly<ReturnType<typeof pastOf>>;

/** `events`: of one device, in any order. */
export function pastOf(events: readonly PastEvent[]) {
  const ordered = [...events].sort((one, other) => one.seq - other.seq);
  const asleep = new Track();
  const online = new Track();
  const calls = new Track();
  const wakeups = new Map<string, PastWakeup>();
  for (const event of ordered) {
    const atMs = Date.parse(event.at);
    const session = textOf(event, 'session');
    const reason = textOf(event, 'reason');
    if (event.type === 'device.sleep.login') asleep.begin(session, atMs);
    else if (event.type === 'device.sleep.offline') asleep.end(session, atMs, sessionReason(reason));
    else if (event.type === 'device.signal.online') online.begin(session, atMs);
    else if (event.type === 'device.signal.offline') online.end(session, atMs, sessionReason(reason));
    else if (event.type === 'call.started') calls.begin(session, atMs);
    else if (event.type === 'call.ended') calls.end(session, atMs, callReason(reason));
    else if (event.type.startsWith('device.wakeup.')) recordWakeup(wakeups, event, atMs);
  }
  const first = ordered[0];
  return {
    // Time of the first event; null: no events.
    knownFromMs: first === undefined ? null : Date.parse(first.at),
    asleep: asleep.periods,
    online: online.periods,
    calls: calls.periods,
    wakeups: [...wakeups.values()],
    // Neither asleep nor online; `ending`: the reason.
    offline: gapsOf([...asleep.periods, ...online.periods]),
  };
}

function textOf({ data }: PastEvent, name: string): string {
  const value = data[name];
  return typeof value === 'string' ? value : '';
}

const successor = sessionReason('replaced');

/** The periods of one kind of session, of which a device has one at a time. */
class Track {
  readonly #done: Period[] = [];
  #open: { readonly session: string; readonly fromMs: number } | null = null;

  begin(session: string, atMs: number): void {
    if (this.#open?.session === session) return;
    if (this.#open !== null) this.end(this.#open.session, atMs, successor);
    this.#open = { session, fromMs: atMs };
  }

  /** Ignores a session whose beginning is not among the events. */
  end(session: string, atMs: number, ending: string): void {
    if (this.#open?.session !== session) return;
    this.#done.push({ fromMs: this.#open.fromMs, toMs: atMs, ending });
    this.#open = null;
  }

  get periods(): readonly Period[] {
    const lasting = this.#open === null ? [] : [{ fromMs: this.#open.fromMs, toMs: null, ending: '' }];
    return [...this.#done, ...lasting];
  }
}

function recordWakeup(wakeups: Map<string, PastWakeup>, event: PastEvent, atMs: number): void {
  const requestId = textOf(event, 'request_id');
  const before = wakeups.get(requestId);
  const wokeAfterMs = event.type === 'device.wakeup.completed' ? Number(event.data['woke_after_ms']) : null;
  const outcome = outcomes[event.type] ?? 'waiting';
  const acceptedMs = before?.acceptedMs ?? atMs - (wokeAfterMs ?? 0);
  // The outcome may arrive before the acceptance.
  if (outcome === 'waiting' && before !== undefined) return;
  const settledMs = outcome === 'waiting' ? null : atMs;
  wakeups.set(requestId, { requestId, acceptedMs, settledMs, outcome, wokeAfterMs });
}

const outcomes: Readonly<Record<string, PastWakeup['outcome']>> = {
  'device.wakeup.completed': 'woke',
  'device.wakeup.expired': 'did not wake',
  'device.wakeup.failed': 'module lost',
};

/** The gaps between the sessions of a device, and after the last one. */
function gapsOf(periods: readonly Period[]): Period[] {
  const ordered = [...periods].sort((one, other) => one.fromMs - other.fromMs);
  const gaps: Period[] = [];
  let last: Period | null = null;
  for (const period of ordered) {
    if (last !== null && last.toMs !== null && period.fromMs > last.toMs)
      gaps.push({ fromMs: last.toMs, toMs: period.fromMs, ending: last.ending });
    if (last === null || isLater(period, last)) last = period;
  }
  if (last !== null && last.toMs !== null) gaps.push({ fromMs: last.toMs, toMs: null, ending: last.ending });
  return gaps;
}

function isLater(one: Period, other: Period): boolean {
  return (one.toMs ?? Infinity) >= (other.toMs ?? Infinity);
}
