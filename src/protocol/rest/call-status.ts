/** GET /v1/device/msgvoip-call-status: its `data`. Source: API doc, Endpoint 3 and Call status record. */

/** JSON text. */
export function encodeCallStatus(isInCall: boolean): string {
  return `{"in_call":${isInCall}}`;
}
