/**
 * The envelope around every answer. Three shapes, by endpoint: plain `{code, message}`, wakeup's with a
 * `request_id`, issuance's with `msg` in place of `message`. `data` is left out where there is none.
 * Source: API doc, Response envelopes; decisions.md, HTTP.
 */
export type EnvelopeShape = 'plain' | 'with-request-id' | 'msg';

/** `data` is JSON text. */
export function encodeEnvelope(
  shape: EnvelopeShape,
  code: number,
  message: string,
  requestId: string,
  data: string | null,
): string {
  const text = shape === 'msg' ? 'msg' : 'message';
  const head = shape === 'with-request-id' ? `{"request_id":${JSON.stringify(requestId)},` : '{';
  const tail = data === null ? '}' : `,"data":${data}}`;
  return `${head}"code":${code},"${text}":${JSON.stringify(message)}${tail}`;
}
