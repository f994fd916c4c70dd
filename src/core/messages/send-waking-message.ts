/**
 * Hands a backend's message to a device that may sleep: sent if the device is online, else the device is woken, awaited and
 * handed the message, all within one request. The wakeup is one like every other, with its limits, record and events; its id
 * and signature follow from the request's signature, so that a repeat at another member joins it instead of waking again.
 * Source: signal-wire.md, Sending a message; docs/call-flow.md, The message.
 */
import { pause, wallSeconds } from '../../lib/clock.ts';
import { fail, succeed } from '../../lib/result.ts';
import { comeAgain, refusal } from '../../model/codes.ts';
import { wakeupIdOf } from '../../model/ids.ts';
import { wakeupRecallEveryMs } from '../../model/limits.ts';
import type { MessageRefusal, MessageRequest, MessageWakeup } from '../../model/message.ts';
import { holdsPermission, isStillValid, type Credential } from '../../model/registry.ts';
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
  /** Of the requests that wait for a device to wake; full is 42901. */
  readonly waiting: WaitingReaders;
  /** The requests of this member that may wake, by signature, under way or answered. */
  readonly wakings: AnswerMemory<MessageAnswer>;
}

export interface WakingRequest {
  readonly message: MessageRequest;
  /** How long the device may take to sign in, 0-30 000. */
  readonly waitMs: number;
  /** Whose it is: it has to hold still when the device has woken. */
  readonly credential: Credential;
  /** Takes what is to be called when the caller hangs up. */
  onGone(listener: () => void): void;
}

/**
 * Settles within the wait, a wakeup (2.5 s) and an acknowledgement (5.5 s). Rejects only when a connection breaks its
 * port's promise. Beside the codes of a message it answers those of a wakeup; 50402 with `wakeup` says that the device
 * did not wake in time, or was gone again.
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
    return refuseMessage(deps, comeAgain(42901, 'too many messages are known'));
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
    return refuseMessage(deps, comeAgain(42901, 'too many messages wait for devices to wake'));
  try {
    return await new WakingWait(deps, request, slot, endMs).run();
  } catch (error) {
    deps.log.error({ err: error }, 'whether a device woke for its message cannot be told');
    return refuseMessage(deps, comeAgain(50301, 'message service unavailable'));
  } finally {
    slot.leave();
  }
}

/** One request from the wakeup on, with its place among those that wait. */
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
    // Nobody knows whether the packet left: what comes of it will tell.
    if (!woken.ok && woken.error.code !== 50402) return this.#afterRefusal(woken.error);
    const record = await this.#awaitOutcome(wakeup);
    return this.#deliver(describeWakeup(wakeup, woken, record));
  }

  /** No module sleeps: the controller may have signed in since it was looked for. */
  async #afterRefusal(why: MessageRefusal): Promise<MessageAnswer> {
    const again = why.code === 40412 ? await trySending(this.#deps, this.#request.message) : null;
    return again === null || isAbsent(again) ? this.#refuse(why) : withWakeup(again, null);
  }

  /** Null: it was not written to what all share in time. Rejects with SharedStateUnavailable. */
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
    if (this.#isGone) return this.#refuse(comeAgain(50301, 'the caller has gone'));
    if (wakeup.status !== 'completed')
      return this.#deps.isDraining()
        ? this.#refuse(comeAgain(50301, 'this server is being stopped'))
        : this.#refuse({ ...refusal(50402, 'the device did not wake in time'), wakeup });
    if (!this.#holdsStill(credential)) return this.#refuse(refusal(40301, 'the credential was withdrawn'));
    const answer = await trySending(this.#deps, message);
    return isAbsent(answer)
      ? this.#refuse({ ...refusal(50402, 'the device woke and was gone again'), wakeup })
      : withWakeup(answer, wakeup);
  }

  /** A credential that lost the right while the device woke sends nothing more. */
  #holdsStill(credential: Credential): boolean {
    const { registry, clock } = this.#deps;
    const now = registry.findCredential(credential.accessKeyId);
    return isStillValid(now, credential, wallSeconds(clock)) && holdsPermission(now, 'message:send');
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

/** `wakeup` null: the device was online. */
function withWakeup(answer: MessageAnswer, wakeup: MessageWakeup | null): MessageAnswer {
  if (answer.ok) return succeed({ ...answer.value, wakeup });
  return wakeup === null ? answer : fail({ ...answer.error, wakeup });
}
