/** The payload behind the header of a binary message, as bytes that may be moved to another thread. */
import { mediaFrameHeaderBytes } from '../../model/limits.ts';

/**
 * In memory that nothing else is in. A message that came in several pieces was put together in such memory, and is not
 * copied; a smaller one is a view of what was read off the socket in one piece, where others stand beside it.
 */
export function payloadOf(message: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer } = message;
  return buffer instanceof ArrayBuffer && buffer.byteLength === message.length
    ? new Uint8Array(buffer, mediaFrameHeaderBytes)
    : new Uint8Array(message.subarray(mediaFrameHeaderBytes));
}
