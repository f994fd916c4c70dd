/** A message as a backend asks for it, and what it is told. Source: signal-wire.md, Sending a message. */
import type { ApplicationId, DeviceId, MessageId } from './ids.ts';
import type { JsonObject } from './json.ts';

export interface MessageRequest {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly name: string;
  readonly payload: JsonObject;
  /** 64 hex digits; the same signature within the clock window is the same message. */
  readonly signature: string;
  /** Wall milliseconds after which the signature is refused by its date and need not be remembered. */
  readonly signatureExpiresMs: number;
}

/** The device says it has it. */
export interface MessageReceipt {
  readonly deviceId: DeviceId;
  readonly id: MessageId;
  /** Wall milliseconds. */
  readonly acknowledgedAtMs: number;
}
