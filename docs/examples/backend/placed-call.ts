/**
 * One call, from the push to a device that has what it needs: is the device free, credentials for this room, and the
 * message that brings them and wakes a device that sleeps. Every step says what came of it.
 */
import type { CallCredentialsData } from 'reveille/client';
import type { CallContext, Refusal } from './call-context.ts';
import type { Verdict } from './push-listener.ts';

/** `again`: worth another attempt. Each of the others is how a call ends for its backend. */
type AttemptEnd = 'delivered' | 'unreachable' | 'refused' | 'again';

/** The longest the API waits for a device to wake. */
const waitSecondsMax = 30;

/** Of a call: a device may fall asleep again, or its connection have broken without anybody noticing. */
const attemptsMax = 3;

/**
 * `busy`: the device is in a call; `refused`: it is not ours to call. A status that cannot be had stops nobody: it
 * spares callers a phone that rings in vain, and reserves nothing. Never rejects.
 */
export async function judgeCall(context: CallContext): Promise<Verdict> {
  const { deps, call, deadline } = context;
  try {
    const status = await deps.api.callStatus(call.deviceId, { signal: deadline.signal });
    if (!status.ok) return context.notifyRefusal('call-status.refused', status) ? 'ring' : 'refused';
    if (!status.data.in_call) return 'ring';
    context.notify('call.busy');
    return 'busy';
  } catch (error) {
    context.notify('call-status.failed', { error: String(error) });
    return 'ring';
  }
}

/** Ends with `call.delivered` or `call.failed` in the log. Never rejects. */
export async function placeCall(context: CallContext): Promise<void> {
  try {
    const end = await new PlacedCall(context).run();
    if (end === 'delivered') context.notify('call.delivered');
    else context.notify('call.failed', { reason: end === 'again' ? 'not_delivered' : end });
  } catch (error) {
    const reason = context.deadline.signal.aborted ? 'time_over' : String(error);
    context.notify('call.failed', { reason });
  }
}

type RefusedMessage = Refusal & { readonly data: { readonly wakeup?: object } | null };

class PlacedCall {
  readonly #context: CallContext;
  /** Issued once: they outlast the call's time, and stay those of the bridge that may already have this call. */
  #credentials: CallCredentialsData | null = null;

  constructor(context: CallContext) {
    this.#context = context;
  }

  async run(): Promise<AttemptEnd> {
    const { deadline, deps } = this.#context;
    for (let attempt = 1; ; attempt += 1) {
      const end = await this.#attempt().catch((error: unknown) => this.#afterTrouble(error));
      if (end !== 'again' || attempt === attemptsMax) return end;
      await deadline.pause(deps.retryPauseMs);
    }
  }

  /** Nobody answered, as while a server is being replaced: another attempt finds the next one. */
  #afterTrouble(error: unknown): AttemptEnd {
    if (this.#context.deadline.signal.aborted) throw error;
    this.#context.notify('api.trouble', { error: String(error) });
    return 'again';
  }

  async #attempt(): Promise<AttemptEnd> {
    const refused = this.#credentials === null ? await this.#issue() : null;
    return refused ?? this.#deliver();
  }

  /** Null: they are here. */
  async #issue(): Promise<'again' | 'refused' | null> {
    const { deps, call, deadline } = this.#context;
    await Promise.race([deps.caughtUp, deadline.pause(deps.catchUpMsMax)]);
    const body = {
      ...deps.capabilities.of(call.deviceId),
      msg_session_key: call.sessionKey,
      msg_room_id: call.roomId,
      msg_session_token: call.serverToken,
      msg_app_id: deps.msgAppId,
      msg_model_id: call.modelId,
      msg_payload: call.payload,
      device_id: call.deviceId,
      calling_timeout_sec: deps.callingTimeoutS,
    };
    const issued = await deps.api.issueCallCredentials(body, { signal: deadline.signal });
    if (!issued.ok) return this.#context.notifyRefusal('credentials.refused', issued) ? 'again' : 'refused';
    this.#credentials = issued.data;
    const session = new URL(issued.data.peer_id).searchParams.get('x_session');
    this.#context.notify('credentials.issued', { request_id: issued.requestId, session });
    return null;
  }

  /** A device that has it already is told of the same session again, and goes on with it. */
  async #deliver(): Promise<AttemptEnd> {
    const { deps, call, deadline } = this.#context;
    const payload = { ...this.#credentials, calling_timeout_sec: deps.callingTimeoutS };
    const waitS = Math.min(waitSecondsMax, deadline.leftS);
    const options = { wake: true, waitS, signal: deadline.signal };
    const message = await deps.api.sendMessage(call.deviceId, 'msga_join_voip_room', payload, options);
    if (!message.ok) return this.#afterRefusal(message);
    const { wakeup = null } = message.data;
    if (wakeup !== null) {
      const { request_id, woke_after_ms } = wakeup;
      this.#context.notify('device.woken', { request_id, woke_after_ms });
    }
    return 'delivered';
  }

  async #afterRefusal(refused: RefusedMessage): Promise<AttemptEnd> {
    const isPassing = this.#context.notifyRefusal('message.refused', refused);
    const { code, data } = refused;
    if (code === 50402 && data?.wakeup === undefined) await this.#wake();
    // A device that boots has neither connection for a moment.
    if (isPassing || code === 40412) return 'again';
    return code === 40902 ? 'unreachable' : 'refused';
  }

  /** It is said to be online and does not answer: its connection may have broken without anybody noticing. */
  async #wake(): Promise<void> {
    const { deps, call, deadline } = this.#context;
    const woken = await deps.api.wake(call.deviceId, { signal: deadline.signal });
    if (woken.ok) this.#context.notify('wake.accepted', { request_id: woken.requestId });
    else this.#context.notifyRefusal('wake.refused', woken);
  }
}
