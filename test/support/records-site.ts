/** Several that are one server, as far as their records go: with a real store, and driven by a test. */
import type { ConnectionKind, MemberId } from '../../src/model/cluster.ts';
import { neverConnected } from '../../src/model/connectivity.ts';
import type { LoggedEvent } from '../../src/model/events.ts';
import type { DeviceId, ProductId, SessionId } from '../../src/model/ids.ts';
import { Readiness } from '../../src/telemetry/readiness.ts';
import type { ConnectionRecords } from '../../src/core/ports/records.ts';
import type { EventLog } from '../../src/core/ports/event-log.ts';
import type {
  SlotFollower,
  SlotLost,
  SlotClaimed,
  SessionLocator,
} from '../../src/core/ports/session-locator.ts';
import type { RecordsDeps } from '../../src/server/bootstrap/records.ts';
import { StoreHealth } from '../../src/server/bootstrap/store-health.ts';
import type { RecordStore } from '../../src/storage/journal/committer.ts';
import type { Settings } from '../../src/server/config/settings-schema.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { writeHeartbeat, writeEnd, writeLogin, type ConnectionPlace } from './connection-changes.ts';
import { FakeLog } from './fakes.ts';

export interface RecordsSite {
  readonly members: readonly SiteMember[];
  /** Resolves when all that was said is where every member sees it. */
  settled(): Promise<void>;
  /** The same of heartbeats of sessions that go on. */
  heard(): Promise<void>;
  /** As if it had been killed: all the others end its sessions, at once. Resolves when they have. */
  lose(member: SiteMember): Promise<void>;
}

export const recordsSettings = {
  wakeup: { known_max: 1000 } as Settings['wakeup'],
  events: { retention_days: 1, retained_max: 100_000 },
};

/** Of the member that keeps its records in `store`. */
export function recordsDeps(store: RecordStore): RecordsDeps & { readonly log: FakeLog } {
  const clock = new SystemClock();
  const productOf = (): ProductId => 'doorbell' as ProductId;
  const log = new FakeLog();
  const health = new StoreHealth({ log, readiness: new Readiness() });
  return { clock, node: 'node-1', log, health, productOf, store };
}

export interface MemberIdentity {
  readonly id: MemberId;
  /** The name of its node, in events. */
  readonly node: string;
}

export interface MemberDeps {
  readonly sleep: ConnectionRecords;
  readonly signal: ConnectionRecords;
  readonly events: EventLog;
  readonly locator: SessionLocator;
  /** A notice to another member. */
  readonly supersede: (member: MemberId, slot: SlotLost) => void;
}

/** Told what becomes of its sessions it does what a server does: one that is replaced is closed, without an event. */
export class SiteMember implements SlotFollower {
  readonly id: MemberId;
  readonly node: string;
  readonly takings: SlotClaimed[] = [];
  /** Sessions that were closed because a later login has their slot. */
  readonly replaced: SessionId[] = [];
  readonly #deps: MemberDeps;
  readonly #live = { sleep: new Map<DeviceId, SessionId>(), signal: new Map<DeviceId, SessionId>() };

  constructor({ id, node }: MemberIdentity, deps: MemberDeps) {
    this.id = id;
    this.node = node;
    this.#deps = deps;
  }

  get locator(): SessionLocator {
    return this.#deps.locator;
  }

  get events(): readonly LoggedEvent[] {
    return this.#deps.events.read(0, 100_000);
  }

  login(kind: ConnectionKind, deviceId: DeviceId, session: string, atMs: number): void {
    this.#live[kind].set(deviceId, session as SessionId);
    writeLogin(this.#place(kind, deviceId), session as SessionId, atMs);
  }

  /** `heartbeatAt`: Unix seconds; null: it had heard nothing. */
  end(
    kind: ConnectionKind,
    deviceId: DeviceId,
    session: string,
    atMs: number,
    heartbeatAt: number | null,
  ): void {
    if (this.openSession(kind, deviceId) === session) this.#live[kind].delete(deviceId);
    writeEnd(this.#place(kind, deviceId), session as SessionId, atMs, heartbeatAt);
  }

  hear(kind: ConnectionKind, deviceId: DeviceId, session: string, heartbeatAt: number): void {
    writeHeartbeat(this.#place(kind, deviceId), session as SessionId, heartbeatAt);
  }

  /** The session that is open here. */
  openSession(kind: ConnectionKind, deviceId: DeviceId): SessionId | null {
    return this.#live[kind].get(deviceId) ?? null;
  }

  heartbeatAt(kind: ConnectionKind, deviceId: DeviceId): number {
    return this.#deps[kind].read(deviceId)?.lastHeartbeatAt ?? 0;
  }

  taken(slot: SlotClaimed): void {
    const { connection, deviceId } = slot;
    this.takings.push(slot);
    for (const { member, session } of slot.superseded)
      if (member !== this.id) this.#deps.supersede(member, { connection, deviceId, session });
  }

  lost({ connection, deviceId, session }: SlotLost): void {
    if (this.openSession(connection, deviceId) !== session) return;
    this.#live[connection].delete(deviceId);
    this.replaced.push(session);
    const known = this.#deps[connection].read(deviceId) ?? neverConnected;
    this.#deps[connection].write(deviceId, { ...known, openSession: null }, null);
  }

  #place(kind: ConnectionKind, deviceId: DeviceId): ConnectionPlace {
    return { records: this.#deps[kind], kind, deviceId, node: this.node };
  }
}

/** Resolves when the log has come so far. */
export function reached(log: Pick<EventLog, 'head' | 'follow'>, sequence: number): Promise<void> {
  return new Promise((resolve) => {
    if (log.head >= sequence) return resolve();
    const stop = log.follow(() => {
      if (log.head < sequence) return;
      stop();
      resolve();
    });
  });
}
