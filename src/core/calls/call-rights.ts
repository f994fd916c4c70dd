/**
 * Ends the calls that a change of the registry took the right to exist from, and their legs with them: their device is
 * gone, disabled or expired, has another secret than when the call was issued, or is not the application's any more.
 * Source: calls-and-media.md, Legs.
 */
import type { CallDirectory } from './call-directory.ts';
import type { CallFollower } from './call-followers.ts';
import { wallSeconds } from '../../lib/clock.ts';
import type { CallChange, CallSession } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import type { Device } from '../../model/registry.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import { checkAccess, secretMark } from '../devices/device-access.ts';
import { RegistryReview } from '../devices/registry-review.ts';

export interface CallRightsDeps extends CoreDeps {
  readonly directory: CallDirectory;
}

export class CallRights implements CallFollower {
  readonly review: RegistryReview<CallSession>;
  readonly #deps: CallRightsDeps;
  /** A mark of the device's secret when the call came here; of one that a restart took up, when it was first checked. */
  readonly #marks = new Map<SessionId, number>();

  /** The caller makes it follow the directory. */
  constructor(deps: CallRightsDeps) {
    this.#deps = deps;
    this.review = new RegistryReview(deps, {
      all: () => deps.directory.sessions(),
      judge: (session) => this.#judge(session),
    });
  }

  issued(session: CallSession): void {
    this.#mark(session);
  }

  changed({ sessionId }: CallSession, { state }: CallChange): void {
    if (state === 'ended') this.#marks.delete(sessionId);
  }

  #judge(session: CallSession): boolean {
    const { clock, registry, directory } = this.#deps;
    const { appId, deviceId, sessionId } = session;
    const device = registry.peekDevice(deviceId);
    const mayGoOn =
      device !== null &&
      checkAccess(registry, appId, device, wallSeconds(clock)) === null &&
      this.#isSame(sessionId, device);
    if (!mayGoOn) directory.end(sessionId, 'error');
    return !mayGoOn;
  }

  #isSame(sessionId: SessionId, { secret }: Device): boolean {
    const now = secretMark(secret);
    const then = this.#marks.get(sessionId);
    if (then === undefined) this.#marks.set(sessionId, now);
    return then === undefined || then === now;
  }

  #mark({ sessionId, deviceId }: CallSession): void {
    try {
      const device = this.#deps.registry.peekDevice(deviceId);
      if (device !== null) this.#marks.set(sessionId, secretMark(device.secret));
    } catch (error) {
      this.#deps.log.error({ err: error }, 'cannot read the device of a call');
    }
  }
}
