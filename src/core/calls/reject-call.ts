/**
 * Forwards a controller's rejection of a call to the member that has the device's calls. There is no answer: rejections of unknown,
 * foreign, connected or ended sessions are counted and ignored, so that a controller cannot probe for sessions. Source:
 * signal-wire.md; calls-and-media.md, Call sessions and call status.
 */
import { callCommitMsMax, callRejectionsMax } from '../../model/limits.ts';
import type { CallRejection } from '../../model/call.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { PeerAnswer } from '../../protocol/cluster/peer-message.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { CallLocator } from '../ports/call-locator.ts';
import type { CallDirectory } from './call-directory.ts';

export interface CallRejectionsDeps {
  readonly directory: Pick<CallDirectory, 'reject'>;
  readonly callLocator: Pick<CallLocator, 'locate' | 'ask'>;
  readonly telemetry: Telemetry;
}

type Result = PeerAnswer<'reject-call'> | 'unreachable';

export class CallRejections {
  readonly #deps: CallRejectionsDeps;
  readonly #underWayMax: number;
  #underWay = 0;

  constructor(deps: CallRejectionsDeps, underWayMax = callRejectionsMax) {
    this.#deps = deps;
    this.#underWayMax = underWayMax;
  }

  /** `deviceId`: of the controller, proven by its login. */
  rejected(deviceId: DeviceId, rejection: CallRejection): void {
    const { telemetry } = this.#deps;
    if (this.rejectHere(deviceId, rejection) === 'taken') return telemetry.callRejection('taken');
    if (this.#underWay >= this.#underWayMax) return telemetry.callRejection('dropped');
    this.#underWay += 1;
    void this.#rejectElsewhere(deviceId, rejection).then((result) => {
      this.#underWay -= 1;
      telemetry.callRejection(result);
    });
  }

  /** Rejects a call of this member; also on behalf of another member. */
  rejectHere(deviceId: DeviceId, rejection: CallRejection): PeerAnswer<'reject-call'> {
    return this.#deps.directory.reject(deviceId, rejection) ? 'taken' : 'stray';
  }

  /** Never rejects. */
  async #rejectElsewhere(deviceId: DeviceId, rejection: CallRejection): Promise<Result> {
    const { callLocator } = this.#deps;
    const member = await callLocator.locate(deviceId);
    if (member === 'here') return this.rejectHere(deviceId, rejection);
    if (member === 'unavailable') return 'unreachable';
    const question = { kind: 'reject-call', deviceId, rejection } as const;
    const asked = await callLocator.ask<'reject-call'>(member, question, callCommitMsMax);
    return asked.ok ? asked.value : 'unreachable';
  }
}
