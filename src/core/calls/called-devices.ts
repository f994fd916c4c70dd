/**
 * Wakes the device of a call when the call's first bridge connects while the device is neither in the call nor online. The wakeup
 * has the limits, record and events of a backend's, under a request id of the server, once per call. Source: docs/call-flow.md,
 * Assignment of bridges.
 */
import type { CallSession } from '../../model/call.ts';
import { generateRequestId, type DeviceId } from '../../model/ids.ts';
import { ownerQueryMsMax } from '../../model/limits.ts';
import { locateDevice } from '../devices/locate-device.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import { ownSignature, submitOwnWakeup, type OwnWakeupDeps } from '../wakeups/submit-wakeup.ts';
import type { CallDirectory } from './call-directory.ts';
import type { CallFollower } from './call-followers.ts';

export interface CalledDevicesDeps extends OwnWakeupDeps, Pick<CoreDeps, 'clock' | 'log'> {
  readonly directory: Pick<CallDirectory, 'hasDevice'>;
}

/** Bound: one wakeup per call whose first bridge connected within the 2.5 s of a wakeup. */
export class CalledDevices implements CallFollower {
  readonly #deps: CalledDevicesDeps;

  constructor(deps: CalledDevicesDeps) {
    this.#deps = deps;
  }

  bridgeConnected(session: CallSession): void {
    if (!this.#deps.directory.hasDevice(session.sessionId)) void this.#wake(session);
  }

  async #wake({ appId, deviceId, sessionId }: CallSession): Promise<void> {
    const { clock, log } = this.#deps;
    const requestId = generateRequestId();
    const named = { request_id: requestId, app_id: appId, session: sessionId };
    try {
      if (await this.#isOnline(deviceId)) return;
      const signed = ownSignature(clock, `wakeup of call ${sessionId}`);
      const woken = await submitOwnWakeup(this.#deps, { appId, deviceId, requestId, ...signed });
      if (!woken.ok) log.info({ ...named, code: woken.error.code }, 'call: device not woken: wakeup refused');
    } catch (error) {
      log.error({ ...named, err: error }, 'call: device not woken: its shared row is unreadable');
    }
  }

  async #isOnline(deviceId: DeviceId): Promise<boolean> {
    const { wakeups } = this.#deps;
    const { cluster, directory } = wakeups;
    if (cluster === null) return (directory.find(deviceId)?.connection('signal') ?? null) !== null;
    const { owner } = await locateDevice(wakeups, cluster, 'signal', deviceId, ownerQueryMsMax);
    return owner === 'here' || typeof owner === 'object';
  }
}
