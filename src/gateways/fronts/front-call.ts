/** A front's requests at the core: admitted calls and refused requests. */
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import type { Credential } from '../../model/registry.ts';
import type { AccountedRequest, AdmittedCall } from '../api/dispatcher.ts';
import type { RequestIdentity } from '../api/route.ts';
import type { CallRow, RefusedRow } from './front-messages.ts';

export class FrontCall implements AdmittedCall {
  readonly credential: Credential;
  readonly requestId: RequestIdentity;
  readonly signature: string;
  readonly signatureExpiresMs: number;
  readonly startedMs: number;
  readonly bodyBytes = 0;
  deviceId: DeviceId | null = null;
  isLongPoll = false;
  readonly #address: string;
  #isGone = false;
  #goneListener: (() => void) | null = null;

  constructor(row: CallRow, credential: Credential, originMs: number) {
    const [, , , , id, origin, signature, signatureExpiresMs, startedMs, address] = row;
    this.credential = credential;
    this.requestId = { id, origin };
    this.signature = signature;
    this.signatureExpiresMs = signatureExpiresMs;
    this.startedMs = startedMs - originMs;
    this.#address = address ?? '';
  }

  get provenAppId(): ApplicationId {
    return this.credential.appId;
  }

  get claimedAppId(): string {
    return this.credential.appId;
  }

  remoteAddress(): string {
    return this.#address;
  }

  onGone(listener: () => void): void {
    if (this.#isGone) listener();
    else this.#goneListener = listener;
  }

  hangUp(): void {
    this.#isGone = true;
    this.#goneListener?.();
  }
}

export function refusedRequest(row: RefusedRow, originMs: number): AccountedRequest {
  const [, , , , id, origin, startedMs, provenAppId, claimedAppId] = row;
  return {
    requestId: { id, origin },
    startedMs: startedMs - originMs,
    provenAppId,
    claimedAppId,
    deviceId: null,
    isLongPoll: false,
  };
}
