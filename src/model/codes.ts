/**
 * The one table of business codes. Each endpoint's possible answers are a union derived from it, so that an undocumented code
 * does not compile. Only the stable messages of the spec are contract; other texts are for people. Source: API doc, Errors;
 * decisions.md, HTTP.
 */

export const codeTexts = {
  0: 'success',
  40000: 'Content-Length must appear exactly once, in decimal digits',
  40003: 'invalid parameter',
  40105: 'authentication failed',
  40301: 'application credential lacks permission',
  40302: 'device does not match the application',
  40304: 'device has expired',
  40400: 'no such path',
  40403: 'device does not exist',
  40412: 'device is not connected',
  40413: 'no such wakeup request',
  40414: 'no such call',
  40500: 'method not allowed',
  40902: 'wakeup protocol not supported',
  40903: 'media parameters cannot change after a device or a bridge has connected',
  40904: 'the device already exists with other terms',
  41100: 'Content-Length is required: Transfer-Encoding is not supported',
  41300: 'request body too large',
  41500: 'Content-Type must be application/json',
  42901: 'request overload',
  50000: 'internal server error',
  50204: 'wakeup delivery failed',
  50301: 'service unavailable',
  50401: 'query timed out',
  50402: 'delivery result unknown',
} as const;

export type Code = keyof typeof codeTexts;
export type FailureCode = Exclude<Code, 0>;

/** Refusals before an endpoint's own rules, the same on all endpoints. */
export type TransportCode = 40000 | 40400 | 40500 | 41100 | 41300 | 41500 | 40105;

/** Refusals of access to a device, in the order of the checks. */
export type AccessCode = 40403 | 40302 | 40304;

/** Codes of each operation besides success, in the order of the source's tables. */
export const endpointCodes = {
  connectivity: [40003, 40301, 40302, 40304, 40403, 42901, 50000, 50301, 50401],
  'connectivity-batch': [40003, 40301, 42901, 50000, 50301],
  wakeup: [40003, 40301, 40302, 40304, 40403, 40412, 40902, 42901, 50000, 50204, 50301, 50402],
  'wakeup-outcome': [40003, 40301, 40413, 42901, 50000, 50301],
  message: [40003, 40301, 40302, 40304, 40403, 40412, 40902, 42901, 50000, 50204, 50301, 50402],
  events: [40003, 40301, 42901, 50000, 50301],
  'call-status': [40003, 40301, 40302, 40304, 40403, 42901, 50000],
  'call-end': [40003, 40301, 40302, 40403, 40414, 42901, 50000, 50301],
  'call-credentials': [40003, 40301, 40302, 40304, 40403, 40903, 42901, 50000, 50301],
  'devices-list': [40003, 40301, 40302, 42901, 50000, 50301],
  // Codes of single devices are part of the answer: deviceCodes.
  'devices-add': [40003, 40301, 42901, 50000, 50301, 50402],
  'device-change': [40003, 40301, 40302, 40403, 42901, 50000, 50301, 50402],
  'device-remove': [40003, 40301, 40302, 40403, 42901, 50000, 50301, 50402],
} as const satisfies Record<string, readonly FailureCode[]>;

/** Result codes of each device of a request that adds several; 0: success. */
export const deviceCodes = [40003, 40302, 40403, 40904, 42901] as const satisfies readonly FailureCode[];

export type ConnectivityCode = (typeof endpointCodes.connectivity)[number];
export type ConnectivityBatchCode = (typeof endpointCodes)['connectivity-batch'][number];
/** Result codes of one device in a batch; 0: success. */
export const batchEntryCodes = [
  40003, 40302, 40304, 40403, 50000, 50301, 50401,
] as const satisfies readonly ConnectivityCode[];
export type BatchEntryCode = (typeof batchEntryCodes)[number];
export type WakeupCode = (typeof endpointCodes.wakeup)[number];
export type WakeupOutcomeCode = (typeof endpointCodes)['wakeup-outcome'][number];
export type MessageCode = (typeof endpointCodes.message)[number];
export type EventsCode = (typeof endpointCodes.events)[number];
export type CallStatusCode = (typeof endpointCodes)['call-status'][number];
export type CallEndCode = (typeof endpointCodes)['call-end'][number];
export type CallCredentialsCode = (typeof endpointCodes)['call-credentials'][number];

export type DeviceListingCode = (typeof endpointCodes)['devices-list'][number];
export type DeviceAdditionCode = (typeof endpointCodes)['devices-add'][number];
export type DeviceChangeCode = (typeof endpointCodes)['device-change'][number];
/** Codes of a provisioning request as a whole, for any number of devices. */
export const provisioningCodes = [42901, 50000, 50301, 50402] as const satisfies readonly FailureCode[];
export type ProvisioningCode = (typeof provisioningCodes)[number];

/** A business outcome other than success. `retryAfterS`: whole seconds, at least 1, if the caller may retry. */
export interface Refusal<C extends FailureCode = FailureCode> {
  readonly code: C;
  readonly message: string;
  readonly retryAfterS?: number;
}

export function refusal<C extends FailureCode>(code: C, message: string = codeTexts[code]): Refusal<C> {
  return { code, message };
}

/** A refusal that the caller may retry in a second. */
export function retryable<C extends FailureCode>(code: C, message?: string): Refusal<C> {
  return { ...refusal(code, message), retryAfterS: 1 };
}

/** `waitMs`: time until the caller may retry. */
export function overload(waitMs: number): Refusal<42901> {
  return { ...refusal(42901), retryAfterS: Math.max(1, Math.ceil(waitMs / 1000)) };
}
