/**
 * The state that all members of a scene share: the device rows, changed by the real state machine, and the event log. A test
 * decides when writes of a member are committed, and what is reachable.
 */
import type { ConnectionKind, DeviceRow, MemberId } from '../../src/model/cluster.ts';
import type { ConnectionRecord } from '../../src/model/connectivity.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import { sessionEvent, type SessionTransition } from '../../src/model/state/session-event.ts';
import { neverShared, reduceShared, type SharedEvent } from '../../src/model/state/shared-connection.ts';
import {
  type SlotFollower,
  SharedStateUnavailable,
  type SessionLocator,
} from '../../src/core/ports/session-locator.ts';
import type { DrivenClock } from './driven-clock.ts';
import { DraftedEventLog } from './drafted-event-log.ts';
import { FakeRecords } from './fakes.ts';

type Fault = 'away' | 'slow' | 'broken' | null;

export class SharedRows implements SessionLocator {
  readonly log = new DraftedEventLog();
  readonly rows = new Map<DeviceId, DeviceRow>();
  /** Fault of `find` and `findKept`. `slow`: times out. */
  fault: Fault = null;
  keptFault: Fault = null;
  finds = 0;
  keptFinds = 0;
  /** Called before every find, so that a test can act in between. */
  beforeFind: () => void = () => undefined;
  readonly #clock: DrivenClock;

  constructor(clock: DrivenClock) {
    this.#clock = clock;
  }

  find(deviceId: DeviceId, waitMs: number): Promise<DeviceRow> {
    this.finds += 1;
    this.beforeFind();
    return this.#read(this.fault, deviceId, waitMs);
  }

  findKept(deviceId: DeviceId, waitMs: number): Promise<DeviceRow> {
    this.keptFinds += 1;
    return this.#read(this.keptFault, deviceId, waitMs);
  }

  row(deviceId: DeviceId): DeviceRow {
    return this.rows.get(deviceId) ?? { sleep: neverShared, signal: neverShared };
  }

  /** Applies an event to the row. True: an event has to be published. */
  apply(kind: ConnectionKind, deviceId: DeviceId, event: SharedEvent, follower: SlotFollower): boolean {
    const row = this.row(deviceId);
    const step = reduceShared(kind, row[kind], event);
    this.rows.set(deviceId, { ...row, [kind]: step.row });
    const { outcome } = step;
    if (outcome.kind === 'claimed') {
      const { epoch, session } = outcome.slot;
      const { superseded } = outcome;
      follower.claimed({ connection: kind, deviceId, session, epoch, times: step.row, superseded });
      return outcome.isNew;
    }
    if (outcome.kind === 'lost') follower.lost({ connection: kind, deviceId, session: event.session });
    return outcome.kind === 'left';
  }

  async #read(fault: Fault, deviceId: DeviceId, waitMs: number): Promise<DeviceRow> {
    if (fault === null) return this.row(deviceId);
    if (fault === 'broken') throw new Error('the rows cannot be read');
    if (fault === 'away') throw new SharedStateUnavailable('nobody is there');
    return new Promise((_, reject) => {
      this.#clock.after(waitMs, () => reject(new SharedStateUnavailable('it took too long')));
    });
  }
}

interface Pending {
  readonly deviceId: DeviceId;
  readonly record: ConnectionRecord;
  readonly transition: SessionTransition | null;
}

/** A member's records of one connection kind; writes reach the rows when the test commits them. */
export class MemberRecords extends FakeRecords {
  readonly #kind: ConnectionKind;
  readonly #member: { readonly id: MemberId; readonly node: string };
  readonly #shared: SharedRows;
  readonly #follower: SlotFollower;
  #pending: Pending[] = [];

  constructor(
    kind: ConnectionKind,
    member: { readonly id: MemberId; readonly node: string },
    shared: SharedRows,
    follower: SlotFollower,
  ) {
    super();
    this.#kind = kind;
    this.#member = member;
    this.#shared = shared;
    this.#follower = follower;
  }

  override write(deviceId: DeviceId, record: ConnectionRecord, transition: SessionTransition | null): void {
    super.write(deviceId, record, transition);
    this.#pending.push({ deviceId, record, transition });
  }

  commit(): void {
    for (const { deviceId, record, transition } of this.#pending.splice(0)) {
      if (transition === null) continue;
      const happened = this.#happened(transition, record.lastHeartbeatAt ?? 0);
      const isTold = this.#shared.apply(this.#kind, deviceId, happened, this.#follower);
      if (!isTold) continue;
      const { epoch } = this.#shared.row(deviceId)[this.#kind];
      const known = transition.kind === 'login' ? { ...transition, epoch } : transition;
      this.#shared.log.append(sessionEvent(deviceId, known));
    }
  }

  #happened({ kind, session, atMs }: SessionTransition, heartbeatAt: number): SharedEvent {
    const { id: member, node } = this.#member;
    return kind === 'login'
      ? { kind, member, node, session, atMs, isLate: false }
      : { kind, session, atMs, heartbeatAt };
  }
}
