/** Messages on the link as bytes. What a message means is link-message's. */
import { assert } from '../base/assert.ts';
import { encodeLengthFrame } from '../base/length-frame.ts';
import { packPlain } from '../base/plain-msgpack.ts';
import { linkMessageBytesMax } from '../domain/limits.ts';

/** Of plain values: no undefined, no class but Buffer. */
export function encodeLinkFrame(value: object): Buffer {
  const payload = packPlain(value);
  assert(payload.length <= linkMessageBytesMax, 'messages of the link keep to their limit');
  return encodeLengthFrame(payload);
}
