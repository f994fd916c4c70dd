/** A backend's message to a device, and its result. Source: signal-wire.md, Sending a message. */
import type { MessageCode, Refusal } from './codes.ts';
import type { ApplicationId, DeviceId, MessageId, RequestId } from './ids.ts';
import type { JsonObject } from './json.ts';
import type { SignedRequest } from './signed-request.ts';
import type { WakeupRecord } from './wakeup.ts';

export interface MessageRequest extends SignedRequest {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly name: string;
  readonly payload: JsonObject;
}

export interface MessageReceipt {
  readonly deviceId: DeviceId;
  readonly id: MessageId;
  readonly acknowledgedAtMs: number;
  /** Null: the device was online. Default: the device was not to be woken. */
  readonly wakeup?: MessageWakeup | null;
}

/** The device may not have received the message. Includes the wakeup, if one was sent for it. */
export interface MessageRefusal extends Refusal<MessageCode> {
  readonly wakeup?: MessageWakeup;
}

/** The wakeup that a message sent, as far as known at the answer. */
export interface MessageWakeup extends Pick<WakeupRecord, 'status' | 'acceptedAtMs' | 'wokeAfterMs'> {
  readonly requestId: RequestId;
}
