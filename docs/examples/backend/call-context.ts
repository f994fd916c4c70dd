/** What every step of a call works with, and how it tells what came of it. */
import type { ReveilleClient } from 'reveille/client';
import type { Capabilities } from './capabilities.ts';
import type { Deadline } from './deadline.ts';
import type { IncomingCall } from './push-message.ts';
import type { StepFields, StepLog } from './step-log.ts';

export type CallApi = Pick<ReveilleClient, 'callStatus' | 'wake' | 'issueCallCredentials' | 'sendMessage'>;

export interface CallDeps {
  readonly api: CallApi;
  readonly capabilities: Capabilities;
  /** Resolves when what devices reported before we were started is known. */
  readonly caughtUp: Promise<void>;
  /** The mini program's. */
  readonly msgAppId: string;
  /** How long a phone rings. */
  readonly callingTimeoutS: number;
  /** How long a call waits for that. */
  readonly catchUpMsMax: number;
  /** Before what failed is tried again. */
  readonly retryPauseMs: number;
  readonly log: StepLog;
}

/** An answer that is no success. */
export interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly requestId: string;
}

/** May be otherwise a moment later; whatever else is refused stays refused. */
const passing: ReadonlySet<number> = new Set([42901, 50000, 50204, 50301, 50401, 50402]);

export class CallContext {
  readonly deps: CallDeps;
  readonly call: IncomingCall;
  readonly deadline: Deadline;

  constructor(deps: CallDeps, call: IncomingCall, deadline: Deadline) {
    this.deps = deps;
    this.call = call;
    this.deadline = deadline;
  }

  notify(step: string, fields: StepFields = {}): void {
    const { roomId, deviceId } = this.call;
    this.deps.log(step, { room: roomId, device: deviceId, ...fields });
  }

  /** Says that an answer was no success; true: the same may succeed a moment later. */
  notifyRefusal(step: string, { code, message, requestId }: Refusal): boolean {
    this.notify(step, { code, message, request_id: requestId });
    return passing.has(code);
  }
}
