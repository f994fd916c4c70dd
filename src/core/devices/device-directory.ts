/**
 * The actors of connected devices. An actor exists while it has a session; other devices have only their stored records. A change
 * is written first, event and record together, then reported to the followers.
 */
import type { ConnectionKind } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import { neverConnected } from '../../model/connectivity.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import type { SessionChange } from '../../model/state/connection-session.ts';
import type { SessionTransition } from '../../model/state/session-event.ts';
import type { ConnectionRecords } from '../ports/records.ts';
import { DeviceActor, type ActorDeps, type EndReason } from './device-actor.ts';

/** Notified of the sessions of this process in the turn of the change, after its event is written. */
export interface SessionFollower {
  sessionChanged(connection: ConnectionKind, deviceId: DeviceId, change: SessionChange<EndReason>): void;
}

export interface DirectoryDeps {
  readonly sleepRecords: ConnectionRecords;
  readonly signalRecords: ConnectionRecords;
  readonly node: string;
}

export class DeviceDirectory implements ActorDeps {
  readonly #actors = new Map<DeviceId, DeviceActor>();
  readonly #deps: DirectoryDeps;
  readonly #followers: SessionFollower[] = [];

  constructor(deps: DirectoryDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#actors.size;
  }

  follow(follower: SessionFollower): void {
    this.#followers.push(follower);
  }

  find(deviceId: DeviceId): DeviceActor | null {
    return this.#actors.get(deviceId) ?? null;
  }

  /** Returns the device's actor, or creates it; the caller must post a message, or the actor is never released. */
  claim(deviceId: DeviceId): DeviceActor {
    const known = this.#actors.get(deviceId);
    if (known !== undefined) return known;
    const actor = new DeviceActor(deviceId, this);
    this.#actors.set(deviceId, actor);
    return actor;
  }

  /** Ends a session whose slot another member took; ignored if it is over. */
  supersede(connection: ConnectionKind, deviceId: DeviceId, session: SessionId): void {
    const actor = this.find(deviceId);
    if (actor === null) return;
    const heartbeatAt = actor.heartbeatAt(connection);
    actor.post({ to: connection, event: { kind: 'superseded', session, heartbeatAt } });
  }

  /** In order of creation; safe against concurrent changes. */
  actors(): IterableIterator<DeviceActor> {
    return this.#actors.values();
  }

  readRecord(connection: ConnectionKind, deviceId: DeviceId): ConnectionRecord {
    return this.#recordsOf(connection).read(deviceId) ?? neverConnected;
  }

  changed(
    connection: ConnectionKind,
    deviceId: DeviceId,
    record: ConnectionRecord,
    change: SessionChange<EndReason> | null,
    media: JsonObject | null,
  ): void {
    const transition = change === null ? null : this.#transitionOf(connection, change, media);
    this.#recordsOf(connection).write(deviceId, record, transition);
    if (change !== null)
      for (const follower of this.#followers) follower.sessionChanged(connection, deviceId, change);
  }

  release(actor: DeviceActor): void {
    if (this.#actors.get(actor.deviceId) === actor) this.#actors.delete(actor.deviceId);
  }

  #recordsOf(connection: ConnectionKind): ConnectionRecords {
    return connection === 'sleep' ? this.#deps.sleepRecords : this.#deps.signalRecords;
  }

  #transitionOf(
    connection: ConnectionKind,
    change: SessionChange<EndReason>,
    media: JsonObject | null,
  ): SessionTransition {
    const { session, epoch, atMs } = change;
    const { node } = this.#deps;
    if (change.kind === 'closed')
      return { kind: 'ended', connection, session, epoch, atMs, node, reason: change.reason };
    const { replaced, recovered = false } = change;
    return { kind: 'login', connection, session, epoch, atMs, node, replaced, recovered, media };
  }
}
