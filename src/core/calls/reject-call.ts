/**
 * A controller's word that its device does not take a call, brought to the member that has the device's calls. The
 * controller is answered nothing: a session that is unknown, another device's, connected or over is counted and ignored,
 * so nobody learns here which sessions there are. Source: signal-wire.md; calls-and-media.md, Call sessions and call status.
 */
import { callCommitMsMax, callRejectionsMax } from '../../model/limits.ts';
import type { CallRejection } from '../../model/call.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { PeerAnswer } from '../../model/peer.ts';
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

  /** `deviceId`: whose controller says so, proven by its login. */
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

  /** Answers another member, at the one that has the device's calls. */
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
