/**
 * Offers that cost a quadratic reader much time, because it walks one part for each of another: small ones, and ones of maximum
 * size.
 */
import { rtcOfferBytesMax } from '../../src/model/media/rtc-limits.ts';
import { readFromRoot } from './checkout.ts';

const chromium = readFromRoot('test/fixtures/chromium-offer.sdp');

const credentials = ['ice-ufrag', 'ice-pwd', 'fingerprint', 'setup']
  .map((name) => new RegExp(`^a=${name}:.*\r\n`, 'm').exec(chromium)?.[0])
  .join('');

/** An offer with one audio section with these formats, each preceded by a space, and `line` repeated until `bytes` is reached. */
export function fullOffer(formats: string, line: string, bytes = rtcOfferBytesMax): string {
  const head = [
    'v=0\r\na=group:BUNDLE 0\r\n',
    `m=audio 9 UDP/TLS/RTP/SAVPF${formats}\r\n`,
    `${credentials}a=mid:0\r\na=rtcp-mux\r\n`,
  ].join('');
  return head + line.repeat(Math.max(0, Math.floor((bytes - head.length) / line.length)));
}

/** Offers by name; each once cost a second or more, some 1 GB. */
export const hostileOffers: ReadonlyMap<string, string> = new Map(
  [8 * 1024, rtcOfferBytesMax].flatMap((bytes) => {
    const half = Math.floor(bytes / 2) - 400;
    const formats = ' 8'.repeat(half / 2);
    return [
      [`formats and feedback, ${bytes} bytes`, fullOffer(formats, 'a=rtcp-fb:* nack\n', bytes)],
      [`formats and maps, ${bytes} bytes`, fullOffer(formats, 'a=rtpmap:8 a/1\n', bytes)],
      [
        `formats and parameters, ${bytes} bytes`,
        fullOffer(formats, `a=fmtp:8 ${'a;'.repeat(half / 2 - 40)}\n`, bytes),
      ],
    ] as const;
  }),
);
