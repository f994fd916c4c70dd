/** Messages on the link as bytes. What a message means is link-message's. */
import { assert } from '../../lib/assert.ts';
import { encodeLengthFrame } from '../../lib/length-frame.ts';
import { packPlain } from '../../lib/plain-msgpack.ts';
import { linkMessageBytesMax } from '../../model/limits.ts';

/** Of plain values: no undefined, no class but Buffer. */
export function encodeLinkFrame(value: object): Buffer {
  const payload = packPlain(value);
  assert(payload.length <= linkMessageBytesMax, 'messages of the link keep to their limit');
  return encodeLengthFrame(payload);
}
