/**
 * The calls under way: each is looked at before its push is answered and goes on behind the answer, for as long as
 * its phone rings. The steps of one are in placed-call.ts.
 */
import { CallContext, type CallDeps } from './call-context.ts';
import { Deadline } from './deadline.ts';
import { judgeCall, placeCall } from './placed-call.ts';
import type { Verdict } from './push-listener.ts';
import type { IncomingCall } from './push-message.ts';

export interface CallFlowOptions {
  /** From the push on. */
  readonly callMsMax: number;
  readonly callsMax: number;
}

export class CallFlow {
  readonly #deps: CallDeps;
  readonly #options: CallFlowOptions;
  readonly #calls = new Map<Deadline, Promise<void>>();

  constructor(deps: CallDeps, options: CallFlowOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Whether the phone may ring; if so, the call goes on behind it. Never rejects. */
  async take(call: IncomingCall): Promise<Verdict> {
    if (this.#calls.size >= this.#options.callsMax) {
      this.#deps.log('call.overloaded', { room: call.roomId, device: call.deviceId });
      return 'overloaded';
    }
    const deadline = new Deadline(this.#options.callMsMax);
    const context = new CallContext(this.#deps, call, deadline);
    const verdict = judgeCall(context);
    const placed = verdict.then((said) => (said === 'ring' ? placeCall(context) : undefined));
    this.#calls.set(
      deadline,
      placed.finally(() => this.#end(deadline)),
    );
    return verdict;
  }

  /** Resolves when every call has come to its end. */
  async settle(): Promise<void> {
    await Promise.all(this.#calls.values());
  }

  /** Ends every call where it is. */
  cut(): void {
    for (const deadline of this.#calls.keys()) deadline.cut();
  }

  #end(deadline: Deadline): void {
    deadline.cut();
    this.#calls.delete(deadline);
  }
}
