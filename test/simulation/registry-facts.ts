/**
 * Changes of the registry as those who asked for them know them: what was answered, and where. By it is judged who may
 * still log in, stay and be woken, and what the log has to tell.
 */
import type { DeviceId } from '../../src/model/ids.ts';
import type { SessionFact } from './evidence.ts';
import type { Life, Site } from './site.ts';

export type ChangeKind = 'added' | 'removed' | 'disabled' | 'enabled' | 'secret';

/** One that was asked for. */
export interface DeviceChangeFact {
  readonly deviceId: DeviceId;
  readonly kind: ChangeKind;
  /** Who was asked. */
  readonly life: Life;
  readonly askedMs: number;
  /** Null: there was no answer, or it was refused: nobody knows whether it was made. */
  answer: ChangeAnswer | null;
}

interface ChangeAnswer {
  readonly atMs: number;
  readonly isChanged: boolean;
  /** By which the device logs in from now on; null: by the one before. */
  readonly secret: string | null;
}

/** Milliseconds after which a change has been brought to every member, where nothing has gone wrong for a while. */
const knownMs = 15_000;
/** Milliseconds after which who may not stay is gone from where the change was answered. */
export const reviewedMs = 5000;

/** Milliseconds in which a change that was given up may still be made, by a process that was paused. */
const lateMs = 90_000;

export class RegistryFacts {
  readonly changes: DeviceChangeFact[] = [];
  readonly #site: Site;
  /** By which the device itself logs in. */
  readonly #firmware = new Map<DeviceId, string>();
  /** Changed by several places that may not have known of each other: whose change counts is known at rest. */
  readonly #contested = new Set<DeviceId>();

  constructor(site: Site) {
    this.#site = site;
  }

  secretOf(deviceId: DeviceId): string {
    return this.#firmware.get(deviceId) ?? 'none that was ever given out';
  }

  equip(deviceId: DeviceId, secret: string): void {
    this.#firmware.set(deviceId, secret);
  }

  /** It gets the newest secret that was told of it. */
  equipAnew(deviceId: DeviceId): void {
    const told = this.of(deviceId).findLast(({ answer }) => answer !== null && answer.secret !== null);
    const secret = told?.answer?.secret ?? null;
    if (secret !== null) this.equip(deviceId, secret);
  }

  asked(change: DeviceChangeFact): void {
    const before = this.of(change.deviceId);
    if (before.some(({ life }) => life.place.disk !== change.life.place.disk))
      this.#contested.add(change.deviceId);
    this.changes.push(change);
  }

  of(deviceId: DeviceId): DeviceChangeFact[] {
    return this.changes.filter((change) => change.deviceId === deviceId);
  }

  /** The last that anybody asked for is that it is not in service. */
  isGone(deviceId: DeviceId): boolean {
    return this.of(deviceId).at(-1)?.kind === 'disabled';
  }

  /** The change that forbids the device to be at this process; null: nobody can say that it may not. */
  forbids(deviceId: DeviceId, life: Life): DeviceChangeFact | null {
    const last = this.#lastKnownTo(deviceId, life);
    return last?.kind === 'removed' || last?.kind === 'disabled' ? last : null;
  }

  /** The change that forbids a session with this secret; null: as above. */
  forbidsSession(deviceId: DeviceId, secret: string, life: Life): DeviceChangeFact | null {
    const last = this.#lastKnownTo(deviceId, life);
    if (last === null || last.kind === 'enabled') return null;
    if (last.kind === 'disabled' || last.kind === 'removed') return last;
    const { secret: latest = null } = last.answer ?? {};
    return latest !== null && latest !== secret ? last : null;
  }

  /** Of sessions that were there when the change was answered, those that have outlived it. */
  survivors({ deviceId, life, answer }: DeviceChangeFact): SessionFact[] {
    const { evidence } = this.#site;
    if (answer === null || life.host.isDead || life.place.troubledMs > answer.atMs) return [];
    const mayNot = ({ secret, openedMs, holder }: SessionFact): boolean =>
      this.#site.serverOf(holder) === life &&
      !holder.place.isCut &&
      holder.place.troubledMs < answer.atMs &&
      openedMs < answer.atMs &&
      this.forbidsSession(deviceId, secret, life)?.answer === answer;
    return (['sleep', 'signal'] as const).flatMap((kind) => evidence.living(kind, deviceId).filter(mayNot));
  }

  /** The newest change, if it was answered and this process must know of it. */
  #lastKnownTo(deviceId: DeviceId, life: Life): DeviceChangeFact | null {
    const { nowMs } = this.#site.timeline;
    const changes = this.of(deviceId);
    const last = changes.at(-1);
    // One that changed nothing found the entry otherwise than whoever asked for it thought.
    if (last?.answer?.isChanged !== true || this.#contested.has(deviceId)) return null;
    if (changes.some(({ answer, askedMs }) => answer === null && nowMs - askedMs < lateMs)) return null;
    if (last.life === life) return last;
    const isOld = nowMs - last.answer.atMs > knownMs;
    return isOld && this.#site.isUntroubled() ? last : null;
  }
}
