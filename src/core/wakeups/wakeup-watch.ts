/**
 * Watches each wakeup of this process from its write to its outcome, saves each transition with its event, and notifies waiting
 * callers. It outlives the device's actor, since the sleep session usually ends when the controller boots. One wheel has all
 * deadlines. A completed wakeup is kept a while longer, because the device may report its wake cause. Source: events.md;
 * decisions.md, Wakeup; signal-wire.md (wake_report).
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { DeadlineWheel } from '../../lib/collections/deadline-wheel.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import { generateWakeupId, type DeviceId, type SessionId, type WakeupId } from '../../model/ids.ts';
import {
  wakeupReportMsMax,
  wakeupsWatchedMax,
  wakeupToOnlineMsMax,
  wakeReportHopMs,
} from '../../model/limits.ts';
import type { WakeReport } from '../../model/signal.ts';
import type { LoggedTurn, WakeupRecord, WakeupRequest } from '../../model/wakeup.ts';
import { encodeWakePacket } from '../../protocol/sleep/wake-packet.ts';
import type { SessionChange } from '../../model/state/connection-session.ts';
import { reduceWakeup, resumeWakeup, type WakeupEvent } from '../../model/state/wakeup-outcome.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { WakeupRecords } from '../ports/records.ts';
import type { EndReason } from '../devices/device-actor.ts';
import type { SessionFollower } from '../devices/device-directory.ts';
import { WatchedWakeup, WatchedWakeups } from './watched-wakeups.ts';
import type { Peers } from '../ports/peers.ts';

export interface WakeupWatchDeps {
  readonly clock: Clock;
  readonly records: WakeupRecords;
  readonly telemetry: Telemetry;
}

/** A timeout is detected up to two ticks late, never early. */
const tickMs = 250;

export class WakeupWatch implements SessionFollower {
  readonly #deps: WakeupWatchDeps;
  readonly #watchedMax: number;
  readonly #watched = new WatchedWakeups();
  readonly #wheel: DeadlineWheel<WatchedWakeup>;
  #answered = 0;

  constructor(deps: WakeupWatchDeps, watchedMax = wakeupsWatchedMax) {
    this.#deps = deps;
    this.#watchedMax = watchedMax;
    this.#wheel = new DeadlineWheel(tickMs, deps.clock.monotonicMs(), (watched) => this.#runOut(watched));
  }

  /** Watched wakeups: in writing, awaited, and completed ones whose cause may be reported. */
  get size(): number {
    return this.#watched.size;
  }

  get isFull(): boolean {
    return this.#watched.size >= this.#watchedMax;
  }

  /** Resumes the awaited wakeups of an earlier process, oldest first. Throws when the store cannot be read. */
  resume(): void {
    const { clock, records } = this.#deps;
    for (const { appId, requestId, record } of Array.from(records.awaited())) {
      const state = resumeWakeup(requestId, record, clock.monotonicMs(), clock.wallMs());
      const watched = new WatchedWakeup(appId, requestId, record.deviceId, state);
      this.#watched.add(watched);
      this.#watched.answered(watched, record.id);
      this.#await(watched, state.deadlineMs);
      this.#advance(watched, this.#time());
    }
  }

  start(): Cancel {
    const { clock } = this.#deps;
    return clock.every(tickMs, () => this.#wheel.turn(clock.monotonicMs()));
  }

  /** Called right before the write; the caller owes one of `written`, `unknown` and `refused`. */
  begin(request: WakeupRequest, sleepEpoch: number, isOnline: boolean): WatchedWakeup {
    const { clock } = this.#deps;
    const { appId, requestId, deviceId, customData } = request;
    const watched = new WatchedWakeup(appId, requestId, deviceId, {
      kind: 'writing',
      request,
      packet: encodeWakePacket(customData).toString('hex'),
      sleepEpoch,
      isOnline,
      begunMs: clock.monotonicMs(),
      begunAtMs: clock.wallMs(),
      login: null,
    });
    this.#watched.add(watched);
    return watched;
  }

  /** The kernel has the packet: the wakeup is accepted. Returns the wall milliseconds. */
  written(watched: WatchedWakeup): number {
    const { clock } = this.#deps;
    const atMs = clock.wallMs();
    const id = this.#answer(watched, atMs);
    this.#advance(watched, { kind: 'written', id, nowMs: clock.monotonicMs(), atMs });
    return atMs;
  }

  /** The write is uncertain: the answer is 50402. */
  unknown(watched: WatchedWakeup): void {
    const id = this.#answer(watched, this.#deps.clock.wallMs());
    this.#advance(watched, { kind: 'unknown', id });
  }

  refused(watched: WatchedWakeup): void {
    this.#watched.remove(watched);
  }

  sessionChanged(connection: ConnectionKind, deviceId: DeviceId, change: SessionChange<EndReason>): void {
    if (connection === 'sleep') this.#sleepChanged(deviceId, change);
    else this.#signalChanged(deviceId, change);
  }

  /** Applies a session event of the log, from any member; a local one has been applied before. */
  applyLogged(deviceId: DeviceId, happened: LoggedTurn): void {
    const { atMs } = happened;
    for (const watched of this.#watched.openOf(deviceId))
      if (watched.begunAtMs <= atMs) this.#advance(watched, { ...happened, nowMs: this.#thenMs(atMs) });
  }

  /** Applies a controller's report of its wake cause; ignored for wakeups that are not watched here. */
  reported(deviceId: DeviceId, sessionId: SessionId, { requestId, cause }: WakeReport): void {
    for (const watched of this.#watched.completedOf(deviceId))
      if (requestId === null ? watched.isCompletedBy(sessionId) : watched.bears(requestId))
        this.#advance(watched, { kind: 'reported', cause });
  }

  /** Calls `notify` once the outcome is known, until cancelled by the returned function. */
  whenSettled({ deviceId, id }: Pick<WakeupRecord, 'deviceId' | 'id'>, notify: () => void): Cancel {
    const watched = this.#watched.find(deviceId, id);
    if (watched === null || watched.state.kind === 'settled') return () => undefined;
    const readers = (watched.readers ??= new Set());
    readers.add(notify);
    return () => readers.delete(notify);
  }

  #sleepChanged(deviceId: DeviceId, change: SessionChange<EndReason>): void {
    if (change.kind !== 'closed' || change.reason !== 'reset') return;
    const nowMs = this.#deps.clock.monotonicMs();
    for (const watched of this.#watched.openOf(deviceId))
      this.#advance(watched, { kind: 'reset', epoch: change.epoch, nowMs });
  }

  #signalChanged(deviceId: DeviceId, change: SessionChange<EndReason>): void {
    if (change.kind === 'closed') {
      for (const watched of this.#watched.completedOf(deviceId)) this.#forget(watched);
      return;
    }
    const { session: sessionId, atMs } = change;
    const nowMs = this.#deps.clock.monotonicMs();
    for (const watched of this.#watched.openOf(deviceId))
      this.#advance(watched, { kind: 'login', sessionId, nowMs, atMs });
  }

  #advance(watched: WatchedWakeup, event: WakeupEvent): void {
    const before = watched.state;
    const { state, saves } = reduceWakeup(before, event);
    if (state === before) return;
    watched.state = state;
    const { appId, requestId } = watched;
    let isFirst = before.kind === 'writing' || undefined;
    for (const { record, event: told } of saves) {
      this.#deps.records.save(appId, requestId, record, told, isFirst);
      isFirst = undefined;
    }
    if (state.kind === 'settled') this.#conclude(watched, state.record);
    else if (state.kind !== 'writing') this.#await(watched, state.deadlineMs);
  }

  /** A wakeup gets its id with its answer. */
  #answer(watched: WatchedWakeup, atMs: number): WakeupId {
    this.#answered += 1;
    const id = generateWakeupId(atMs, this.#answered);
    this.#watched.answered(watched, id);
    return id;
  }

  #await(watched: WatchedWakeup, deadlineMs: number): void {
    this.#wheel.remove(watched);
    watched.deadlineMs = deadlineMs;
    this.#wheel.add(watched);
  }

  #conclude(watched: WatchedWakeup, { status, cause, wokeAfterMs, alreadyOnline }: WakeupRecord): void {
    if (status !== 'completed' || cause !== null) return this.#forget(watched);
    if (!alreadyOnline && wokeAfterMs !== null) this.#deps.telemetry.wakeupToOnline(wokeAfterMs / 1000);
    watched.wakeReaders();
    this.#await(watched, this.#deps.clock.monotonicMs() + wakeupReportMsMax);
    const tooMany = this.#watched.complete(watched);
    if (tooMany !== null) this.#forget(tooMany);
  }

  #runOut(watched: WatchedWakeup): void {
    if (watched.state.kind === 'settled') return this.#forget(watched);
    this.#advance(watched, this.#time());
  }

  #forget(watched: WatchedWakeup): void {
    this.#wheel.remove(watched);
    this.#watched.remove(watched);
    watched.wakeReaders();
  }

  #thenMs(atMs: number): number {
    const { clock } = this.#deps;
    return clock.monotonicMs() - Math.min(Math.max(0, clock.wallMs() - atMs), wakeupToOnlineMsMax);
  }

  #time(): WakeupEvent {
    const { clock } = this.#deps;
    return { kind: 'time', nowMs: clock.monotonicMs(), atMs: clock.wallMs() };
  }
}

interface ReportDeps {
  readonly clock: Clock;
  readonly watch: Pick<WakeupWatch, 'reported'>;
  readonly peers: Pick<Peers, 'notify'>;
}

/**
 * Forwards a controller's report of its wake cause to the member that watches the wakeup: this one now, and the others a moment
 * later, after they have learned of the controller's login. Source: signal-wire.md (wake_report); cluster.md.
 */
export function reportWake(
  { clock, watch, peers }: ReportDeps,
  deviceId: DeviceId,
  session: SessionId,
  report: WakeReport,
): void {
  watch.reported(deviceId, session, report);
  const notice = { kind: 'wake-reported', deviceId, session, report } as const;
  clock.after(wakeReportHopMs, () => peers.notify('everybody', notice));
}
