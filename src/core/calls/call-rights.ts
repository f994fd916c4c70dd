/**
 * Ends calls that lost their right to exist by a change of the registry: the device is deleted, disabled or expired, has another
 * secret than when the call was issued, or no longer belongs to the application. Source: calls-and-media.md, Legs.
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
  /** Mark of the device's secret when the call was issued here; for resumed calls, as of the first review. */
  readonly #marks = new Map<SessionId, number>();

  /** The caller registers it as a follower of the directory. */
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
    const isAllowed =
      device !== null &&
      checkAccess(registry, appId, device, wallSeconds(clock)) === null &&
      this.#isSame(sessionId, device);
    if (!isAllowed) directory.end(sessionId, 'error');
    return !isAllowed;
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
      this.#deps.log.error(
        { err: error },
        'call: device secret not recorded: registry unreadable; the call may outlive a change of the secret',
      );
    }
  }
}
