/**
 * Changes of the registry as their callers know them: the response, and where it came from. They determine which devices may
 * log in, stay connected and be woken, and which events the log must contain.
 */
import type { DeviceId } from '../../src/model/ids.ts';
import type { SessionFact } from './evidence.ts';
import type { Life, Site } from './site.ts';

export type ChangeKind = 'added' | 'removed' | 'disabled' | 'enabled' | 'secret';

export interface DeviceChangeFact {
  readonly deviceId: DeviceId;
  readonly kind: ChangeKind;
  readonly life: Life;
  readonly askedMs: number;
  /** Null: no response, or a failure; it is unknown whether the change was made. */
  answer: ChangeAnswer | null;
}

interface ChangeAnswer {
  readonly atMs: number;
  readonly isChanged: boolean;
  /** The new secret; null: unchanged. */
  readonly secret: string | null;
}

/** Milliseconds after which every member has a change, without recent faults. */
const knownMs = 15_000;
/** Milliseconds after which the process that answered a change has ended forbidden sessions. */
export const reviewedMs = 5000;

/** Milliseconds in which a paused process may still make an abandoned change. */
const lateMs = 90_000;

export class RegistryFacts {
  readonly changes: DeviceChangeFact[] = [];
  readonly #site: Site;
  readonly #firmware = new Map<DeviceId, string>();
  /** Devices changed concurrently by several places; the winner is known at rest. */
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

  updateSecret(deviceId: DeviceId): void {
    const latest = this.of(deviceId).findLast(({ answer }) => answer !== null && answer.secret !== null);
    const secret = latest?.answer?.secret ?? null;
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

  /** True: the last requested change takes the device out of service. */
  isGone(deviceId: DeviceId): boolean {
    return this.of(deviceId).at(-1)?.kind === 'disabled';
  }

  /** Returns the change that forbids the device at this process; null: not known to be forbidden. */
  forbids(deviceId: DeviceId, life: Life): DeviceChangeFact | null {
    const last = this.#lastKnownTo(deviceId, life);
    return last?.kind === 'removed' || last?.kind === 'disabled' ? last : null;
  }

  /** Returns the change that forbids a session with this secret; null: not known to be forbidden. */
  forbidsSession(deviceId: DeviceId, secret: string, life: Life): DeviceChangeFact | null {
    const last = this.#lastKnownTo(deviceId, life);
    if (last === null || last.kind === 'enabled') return null;
    if (last.kind === 'disabled' || last.kind === 'removed') return last;
    const { secret: latest = null } = last.answer ?? {};
    return latest !== null && latest !== secret ? last : null;
  }

  /** Sessions that existed when the change was answered and still live. */
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

  /** Returns the newest change if it was answered and must have reached this process. */
  #lastKnownTo(deviceId: DeviceId, life: Life): DeviceChangeFact | null {
    const { nowMs } = this.#site.timeline;
    const changes = this.of(deviceId);
    const last = changes.at(-1);
    // A change without effect means that the entry differed from the caller's expectation.
    if (last?.answer?.isChanged !== true || this.#contested.has(deviceId)) return null;
    if (changes.some(({ answer, askedMs }) => answer === null && nowMs - askedMs < lateMs)) return null;
    if (last.life === life) return last;
    const isOld = nowMs - last.answer.atMs > knownMs;
    return isOld && this.#site.isUntroubled() ? last : null;
  }
}
