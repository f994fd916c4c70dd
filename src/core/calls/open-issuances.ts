/** The issuances of calls that are under way at this member, by device: while there is one, the device's calls are claimed. */
import type { DeviceId } from '../../model/ids.ts';

export class OpenIssuances {
  readonly #counts = new Map<DeviceId, number>();

  has(deviceId: DeviceId): boolean {
    return this.#counts.has(deviceId);
  }

  begin(deviceId: DeviceId): void {
    this.#counts.set(deviceId, (this.#counts.get(deviceId) ?? 0) + 1);
  }

  /** True: it was the last one under way. */
  end(deviceId: DeviceId): boolean {
    const left = (this.#counts.get(deviceId) ?? 0) - 1;
    if (left > 0) this.#counts.set(deviceId, left);
    else this.#counts.delete(deviceId);
    return left <= 0;
  }
}
