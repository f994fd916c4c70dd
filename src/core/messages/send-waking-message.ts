/**
 * Sends a backend's message to a device that may sleep: at once if it is online, else after waking it, all within one request. The
 * wakeup has the usual limits, record and events. Its id and signature derive from the request's signature, so that a repeat at
 * another member joins it instead of waking again. Source: signal-wire.md, Sending a message; docs/call-flow.md, The message.
 */
import { pause, wallSeconds } from '../../lib/clock.ts';
import { fail, succeed } from '../../lib/result.ts';
import { retryable, refusal } from '../../model/codes.ts';
import { wakeupIdOf } from '../../model/ids.ts';
import { wakeupRecallEveryMs } from '../../model/limits.ts';
import type { MessageRefusal, MessageRequest, MessageWakeup } from '../../model/message.ts';
import { hasPermission, isStillValid, type Credential } from '../../model/registry.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';
import type { ReaderSlot, WaitingReaders } from '../events/waiting-readers.ts';
import { awaitOutcome, type OutcomeSources } from '../wakeups/query-wakeup-outcome.ts';
import { submitOwnWakeup, type OwnWakeup, type OwnWakeupDeps } from '../wakeups/submit-wakeup.ts';
import type { WakeupAnswer } from '../wakeups/wakeup-memory.ts';
import type { AnswerMemory } from './answer-memory.ts';
import { refuseMessage, type MessageAnswer, type MessageDeps } from './deliver-message.ts';
import { checkMessage, concludeMessage, isAbsent, trySending } from './send-message.ts';

export interface WakingDeps extends MessageDeps, OwnWakeupDeps {
  readonly outcomes: OutcomeSources;
  /** Slots of requests that wait for a device to wake; full is 42901. */
  readonly waiting: WaitingReaders;
  /** Waking requests of this member by signature, in progress or answered. */
  readonly wakings: AnswerMemory<MessageAnswer>;
}

export interface WakingRequest {
  readonly message: MessageRequest;
  /** Time for the device to log in, 0-30 000. */
  readonly waitMs: number;
  /** The caller's credential, which must still be valid once the device has woken. */
  readonly credential: Credential;
  onGone(listener: () => void): void;
}

/**
 * Settles within the wait, a wakeup (2.5 s) and an acknowledgement (5.5 s). Rejects only if a connection violates its port's
 * contract. Answers the codes of messages and of wakeups; 50402 with `wakeup`: the device did not wake in time, or disconnected
 * again.
 */
export async function sendWakingMessage(deps: WakingDeps, request: WakingRequest): Promise<MessageAnswer> {
  const { message } = request;
  const denied = checkMessage(deps, message);
  if (denied !== null) return denied;
  const known = deps.wakings.repeated(message) ?? deps.memory.repeated(message);
  if (known !== null) {
    deps.telemetry.message('repeated');
    return known;
  }
  if (!deps.wakings.hasRoomFor(message))
    return refuseMessage(deps, retryable(42901, 'too many messages are remembered'));
  const answer = sendOrWake(deps, request).then((settled) => concludeMessage(deps, message, settled));
  deps.wakings.begin(message, answer);
  return answer;
}

async function sendOrWake(deps: WakingDeps, request: WakingRequest): Promise<MessageAnswer> {
  const endMs = deps.clock.monotonicMs() + request.waitMs;
  const first = await trySending(deps, request.message);
  if (!isAbsent(first)) return withWakeup(first, null);
  const slot = deps.waiting.enter(request.message.appId);
  if (slot === null)
    return refuseMessage(deps, retryable(42901, 'too many messages wait for devices to wake'));
  try {
    return await new WakingWait(deps, request, slot, endMs).run();
  } catch (error) {
    deps.log.error({ err: error }, 'message: not sent: outcome of its wakeup unreadable; answered 50301');
    return refuseMessage(deps, retryable(50301, 'message service unavailable'));
  } finally {
    slot.leave();
  }
}

class WakingWait {
  readonly #deps: WakingDeps;
  readonly #request: WakingRequest;
  readonly #slot: ReaderSlot;
  readonly #endMs: number;
  #isGone = false;

  constructor(deps: WakingDeps, request: WakingRequest, slot: ReaderSlot, endMs: number) {
    this.#deps = deps;
    this.#request = request;
    this.#slot = slot;
    this.#endMs = endMs;
    request.onGone(() => {
      this.#isGone = true;
      slot.leave();
    });
  }

  async run(): Promise<MessageAnswer> {
    const wakeup = wakeupOf(this.#request);
    const woken = await submitOwnWakeup(this.#deps, wakeup);
    // After 50402 the packet may have been sent: the outcome will show it.
    if (!woken.ok && woken.error.code !== 50402) return this.#afterRefusal(woken.error);
    const record = await this.#awaitOutcome(wakeup);
    return this.#deliver(describeWakeup(wakeup, woken, record));
  }

  /** Without a sleeping module the controller may have logged in meanwhile, so this tries once more. */
  async #afterRefusal(why: MessageRefusal): Promise<MessageAnswer> {
    const again = why.code === 40412 ? await trySending(this.#deps, this.#request.message) : null;
    return again === null || isAbsent(again) ? this.#refuse(why) : withWakeup(again, null);
  }

  /** Null: the record did not reach the shared state in time. Rejects with SharedStateUnavailable. */
  async #awaitOutcome({ appId, requestId, deviceId }: OwnWakeup): Promise<WakeupRecord | null> {
    const { outcomes, clock } = this.#deps;
    for (;;) {
      const waitMs = this.#leftMs;
      const record = await awaitOutcome(outcomes, { appId, requestId, deviceId, waitMs }, this.#slot);
      if (record !== null || this.#leftMs === 0 || this.#isOver) return record;
      await pause(clock, wakeupRecallEveryMs);
    }
  }

  async #deliver(wakeup: MessageWakeup): Promise<MessageAnswer> {
    const { message, credential } = this.#request;
    if (this.#isGone) return this.#refuse(retryable(50301, 'the caller has disconnected'));
    if (wakeup.status !== 'completed')
      return this.#deps.isDraining()
        ? this.#refuse(retryable(50301, 'this server is being stopped'))
        : this.#refuse({ ...refusal(50402, 'the device did not wake in time'), wakeup });
    if (!this.#isStillPermitted(credential))
      return this.#refuse(refusal(40301, 'the credential was withdrawn'));
    const answer = await trySending(this.#deps, message);
    return isAbsent(answer)
      ? this.#refuse({ ...refusal(50402, 'the device woke, then disconnected'), wakeup })
      : withWakeup(answer, wakeup);
  }

  /** A credential that lost its permission during the wakeup sends nothing. */
  #isStillPermitted(credential: Credential): boolean {
    const { registry, clock } = this.#deps;
    const now = registry.findCredential(credential.accessKeyId);
    return isStillValid(now, credential, wallSeconds(clock)) && hasPermission(now, 'message:send');
  }

  get #isOver(): boolean {
    return this.#isGone || this.#deps.isDraining();
  }

  get #leftMs(): number {
    return Math.max(0, this.#endMs - this.#deps.clock.monotonicMs());
  }

  #refuse(why: MessageRefusal): MessageAnswer {
    return refuseMessage(this.#deps, why);
  }
}

function wakeupOf({ message }: WakingRequest): OwnWakeup {
  const { appId, deviceId, signature, signatureExpiresMs } = message;
  return { appId, deviceId, requestId: wakeupIdOf(signature), signature, signatureExpiresMs };
}

function describeWakeup(
  { requestId }: OwnWakeup,
  woken: WakeupAnswer,
  record: WakeupRecord | null,
): MessageWakeup {
  if (record === null) {
    const acceptedAtMs = woken.ok ? woken.value.acceptedAtMs : null;
    return { requestId, status: woken.ok ? 'accepted' : 'unknown', acceptedAtMs, wokeAfterMs: null };
  }
  const { status, acceptedAtMs, wokeAfterMs } = record;
  return { requestId, status, acceptedAtMs, wokeAfterMs };
}

function withWakeup(answer: MessageAnswer, wakeup: MessageWakeup | null): MessageAnswer {
  if (answer.ok) return succeed({ ...answer.value, wakeup });
  return wakeup === null ? answer : fail({ ...answer.error, wakeup });
}
