/** An independent msgpack encoder for expected bytes: maps with a two-byte length, everything else in the shortest form. */
export const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

export function word(text: string): Buffer {
  const head = text.length < 32 ? [0xa0 + text.length] : [0xd9, text.length];
  return Buffer.concat([Buffer.of(...head), Buffer.from(text)]);
}

export function map(...entries: (readonly [string, Buffer])[]): Buffer {
  const parts = entries.flatMap(([key, value]) => [word(key), value]);
  return Buffer.concat([Buffer.of(0xde, 0, entries.length), ...parts]);
}

/** An array of less than 16 items. */
export function list(...values: Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(0x90 + values.length), ...values]);
}
