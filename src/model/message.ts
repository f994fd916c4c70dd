/** A message as a backend asks for it, and what it is told. Source: signal-wire.md, Sending a message. */
import type { ApplicationId, DeviceId, MessageId } from './ids.ts';
import type { JsonObject } from './json.ts';
import type { SignedRequest } from './signed-request.ts';

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
}
