/**
 * The devices of calls that their bridges wake: the bridge of a call has come, its device is not connected, not online, and
 * sleeps. The wakeup goes the way of a backend's, with its limits, its record and its events, under a request id of the
 * server's, once a call. Source: docs/call-flow.md, How bridges are fed.
 */
import type { Clock } from '../../lib/clock.ts';
import type { CallSession } from '../../model/call.ts';
import { generateRequestId, type DeviceId } from '../../model/ids.ts';
import { ownerQueryMsMax } from '../../model/limits.ts';
import { locateDevice } from '../devices/locate-device.ts';
import type { Log } from '../../lib/log.ts';
import { ownSignature, submitOwnWakeup, type OwnWakeupDeps } from '../wakeups/submit-wakeup.ts';
import type { CallDirectory } from './call-directory.ts';
import type { CallFollower } from './call-followers.ts';

export interface CalledDevicesDeps extends OwnWakeupDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Pick<CallDirectory, 'hasDevice'>;
}

/** As many wakeups are under way as calls get their first bridge within the 2.5 s of one. */
export class CalledDevices implements CallFollower {
  readonly #deps: CalledDevicesDeps;

  constructor(deps: CalledDevicesDeps) {
    this.#deps = deps;
  }

  bridgeCame(session: CallSession): void {
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
      if (!woken.ok) log.info({ ...named, code: woken.error.code }, 'the device of a call was not woken');
    } catch (error) {
      log.error({ ...named, err: error }, 'whether the device of a call is online cannot be read');
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
