/** A message as a backend asks for it, and what it is told. Source: signal-wire.md, Sending a message. */
import type { MessageCode, Refusal } from './codes.ts';
import type { ApplicationId, DeviceId, MessageId, RequestId } from './ids.ts';
import type { JsonObject } from './json.ts';
import type { SignedRequest } from './signed-request.ts';
import type { WakeupStatus } from './wakeup.ts';

export interface MessageRequest extends SignedRequest {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly name: string;
  readonly payload: JsonObject;
}

/** The device says it has it. */
export interface MessageReceipt {
  readonly deviceId: DeviceId;
  readonly id: MessageId;
  /** Wall milliseconds. */
  readonly acknowledgedAtMs: number;
  /** Null: the device was online; left out: it was not to be woken. */
  readonly wakeup?: MessageWakeup | null;
}

/** Why the device may not have it; with the wakeup, if one was sent for it. */
export interface MessageRefusal extends Refusal<MessageCode> {
  readonly wakeup?: MessageWakeup;
}

/** The wakeup that a message sent, as far as it is known at the answer. */
export interface MessageWakeup {
  readonly requestId: RequestId;
  readonly status: WakeupStatus;
  /** Wall milliseconds; null: whether its packet was sent is not known. */
  readonly acceptedAtMs: number | null;
  /** From its acceptance to the device's login; null: not woken. */
  readonly wokeAfterMs: number | null;
}
