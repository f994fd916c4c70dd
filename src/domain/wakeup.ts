/** A wakeup as the house speaks of it. Source: API doc, Endpoint 2; decisions.md, Wakeup and Repeats. */
import type { ApplicationId, DeviceId, RequestId } from './ids.ts';
import type { CustomData } from './sleep.ts';

export interface WakeupRequest {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly customData: CustomData;
  /** The caller's own X-Request-ID; null when the server made the id: a made one never repeats. */
  readonly callerRequestId: RequestId | null;
  /** 64 hex digits; the same signature within the clock window is the same wakeup. */
  readonly signature: string;
  /** Wall milliseconds after which the signature is refused by its date and need not be remembered. */
  readonly signatureExpiresMs: number;
  /** Lowercase hex SHA-256 of the request body. */
  readonly bodySha256: string;
}

/** Accepted: a sleep connection was found and the kernel has the 8 bytes. */
export interface WakeupReceipt {
  readonly deviceId: DeviceId;
  /** Wall milliseconds. */
  readonly acceptedAtMs: number;
}
