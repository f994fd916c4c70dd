/** Collects a request body under a cap and a deadline. Source: decisions.md, HTTP (64 KiB). */
import type { Clock } from '../../lib/clock.ts';
import { bodyBytesMax, bodyReadMsMax } from '../../model/limits.ts';
import type { Exchange } from './exchange.ts';

/** The body, or `too-large`. Called once, in a later turn or this one; not at all when the peer goes or is too slow. */
export function readBody(
  exchange: Exchange,
  clock: Clock,
  done: (body: Uint8Array | 'too-large') => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let finished = false;
  const giveUp = clock.after(bodyReadMsMax, () => exchange.abandon());
  exchange.onBody((chunk, isLast) => {
    if (finished) return;
    bytes += chunk.byteLength;
    if (bytes <= bodyBytesMax) chunks.push(Buffer.from(new Uint8Array(chunk)));
    if (!isLast && bytes <= bodyBytesMax) return;
    finished = true;
    giveUp();
    done(bytes > bodyBytesMax ? 'too-large' : Buffer.concat(chunks, bytes));
  });
}

/** Content-Length already says it is too large. */
export function announcesTooMuch(contentLength: string | undefined): boolean {
  return contentLength !== undefined && Number(contentLength) > bodyBytesMax;
}
