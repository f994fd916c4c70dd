/**
 * The refused wakeups that a process remembers, for an operator who asks what became of one. In memory only and bounded: of
 * each application the oldest is forgotten first, and an application that floods forgets its own; when there are too many of all,
 * those of the application that was refused longest ago go. Older ones are in the log.
 */
import type { DeviceId, RequestId } from '../../model/ids.ts';
import type { RefusedWakeup } from '../../model/wakeup.ts';

export interface KeptLimits {
  readonly max: number;
  readonly ofApplicationMax: number;
}

/** Source: docs/running.md. */
const usualLimits: KeptLimits = { max: 10_000, ofApplicationMax: 1000 };

export class RefusedWakeups {
  readonly #limits: KeptLimits;
  /** The application that was refused last is the last; those that only claim to be one are one. */
  readonly #byApplication = new Map<string, RefusedWakeup[]>();
  #count = 0;

  constructor(limits = usualLimits) {
    this.#limits = limits;
  }

  note(refused: RefusedWakeup): void {
    const key = applicationKey(refused);
    const kept = this.#byApplication.get(key) ?? [];
    this.#byApplication.delete(key);
    this.#byApplication.set(key, kept);
    kept.push(refused);
    this.#count += 1;
    if (kept.length > this.#limits.ofApplicationMax) this.#forgetOldest(key, kept);
    if (this.#count > this.#limits.max)
      for (const [first, of] of this.#byApplication) return this.#forgetOldest(first, of);
  }

  /** Those that bear the request id, the latest first; `deviceId` null: whatever their device. */
  list(requestId: RequestId, deviceId: DeviceId | null, limit: number): readonly RefusedWakeup[] {
    return [...this.#byApplication.values()]
      .flat()
      .filter((one) => one.requestId === requestId && (deviceId === null || one.deviceId === deviceId))
      .sort((one, other) => other.atMs - one.atMs)
      .slice(0, limit);
  }

  #forgetOldest(key: string, kept: RefusedWakeup[]): void {
    kept.shift();
    this.#count -= 1;
    if (kept.length === 0) this.#byApplication.delete(key);
  }
}

/** No application id is empty. */
export function applicationKey({ appId, isProven }: Pick<RefusedWakeup, 'appId' | 'isProven'>): string {
  return isProven && appId !== null ? appId : '';
}
