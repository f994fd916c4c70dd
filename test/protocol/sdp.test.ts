/** Offers of Chromium and their answers; offers that are refused, and the sentence for each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rtcOfferBytesMax } from '../../src/model/media/rtc-limits.ts';
import { sdpFormatsMax } from '../../src/model/media/sdp-limits.ts';
import { agree, soundShapeOf } from '../../src/media/webrtc/agreement.ts';
import { advertised } from '../../src/media/webrtc/candidates.ts';
import { readIceFragment } from '../../src/protocol/sdp/ice-fragment.ts';
import { readOffer } from '../../src/protocol/sdp/media-offer.ts';
import { readFromRoot } from '../support/checkout.ts';
import { fullOffer, hostileOffers } from '../support/hostile-offers.ts';
import { answer, shapes } from '../support/sdp-answers.ts';

const chromium = readFromRoot('test/fixtures/chromium-offer.sdp');

/** A quadratic reader needs seconds for an offer, a linear one a few milliseconds. */
const hangMs = 500;

test("Opus, the plainest H.264 and data channels of Chromium's offer are accepted in both directions", () => {
  assert.deepEqual(shapes(chromium), [
    'm=audio 9 UDP/TLS/RTP/SAVPF 111',
    'a=sendrecv',
    'm=video 9 UDP/TLS/RTP/SAVPF 108',
    'a=sendrecv',
    'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
  ]);
  const lines = answer(chromium);
  assert(lines.includes('a=group:BUNDLE 0 1 2'));
  assert(lines.includes('a=fmtp:108 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f'));
  assert.deepEqual(
    lines.filter((line) => line.startsWith('a=rtcp-fb:')),
    ['a=rtcp-fb:108 nack', 'a=rtcp-fb:108 nack pli', 'a=rtcp-fb:108 ccm fir', 'a=rtcp-fb:108 goog-remb'],
  );
  assert.deepEqual(
    lines.filter((line) => line.startsWith('a=candidate:')),
    ['a=candidate:1 1 UDP 2114977791 192.0.2.7 8083 typ host'],
  );
  assert(lines.includes('a=ssrc:22 cname:name'));
});

test('A-law is accepted without Opus, even by its number alone', () => {
  const alaw = chromium.replaceAll('opus/48000/2', 'speex/16000').replace(/^a=rtpmap:8 .*\r\n/m, '');
  assert.deepEqual(shapes(alaw).slice(0, 1), ['m=audio 9 UDP/TLS/RTP/SAVPF 8']);
  const read = readOffer(alaw);
  const agreement = read.ok ? agree(read.value) : read;
  assert(agreement.ok);
  assert.deepEqual(soundShapeOf(agreement.value.audioDown), { format: 'alaw', rate: 8000, channels: 1 });
});

test('two sections of video are answered, one for sending and one for receiving', () => {
  const [head = '', audio = '', video = ''] = chromium.split(/(?=^m=)/m);
  const second = video.replace('a=mid:1', 'a=mid:9');
  const offer = (one: string, other: string): string =>
    [
      head.replace(/BUNDLE .*/, 'BUNDLE 0 1 9'),
      audio,
      video.replace('a=sendrecv', one),
      second.replace('a=sendrecv', other),
    ].join('');
  assert.deepEqual(shapes(offer('a=sendonly', 'a=recvonly')).slice(2), [
    'm=video 9 UDP/TLS/RTP/SAVPF 108',
    'a=recvonly',
    'm=video 9 UDP/TLS/RTP/SAVPF 108',
    'a=sendonly',
  ]);
  assert.match(shapes(offer('a=sendrecv', 'a=sendrecv')).slice(4).join(), /^m=video 0 .*,a=inactive$/);
});

for (const [what, offer, sentence] of [
  [
    'no SDP',
    'hello',
    /^the offer is no session description: line 1, hello: a session description begins with v=0$/,
  ],
  ['no media', 'v=0\r\n', /^the offer has no media section$/],
  [
    'too many sections',
    `v=0\r\n${'m=audio 9 RTP 0\r\n'.repeat(65)}`,
    /: line 66, m=audio 9 RTP 0: .* at most 64 media sections$/,
  ],
  [
    'a fingerprint cut short',
    chromium.replaceAll(/(a=fingerprint:.*):..$/gm, '$1'),
    /^line 14, a=fingerprint:sha-256 .* bytes in hex$/,
  ],
] as const)
  test(`an offer with ${what} is refused with a sentence`, () => {
    assert.match(answer(offer).join('\n'), sentence);
  });

const everyFormat = Array.from({ length: sdpFormatsMax }, (_, format) => ` ${format}`).join('');
const countless: readonly (readonly [string, string, RegExp])[] = [
  ['lines', fullOffer(' 8', 'a=x\n'), /at most 4096 lines$/],
  [
    'characters in a line',
    fullOffer(' 8', 'a'),
    /line 10, a{80}\.\.\.: a line has at most 16384 characters$/,
  ],
  ['formats', fullOffer(' 8'.repeat(sdpFormatsMax + 1), 'a=x\r\n', 4096), /at most 128 formats$/],
  [
    'formats that fill the offer',
    fullOffer(' 8'.repeat(8000), 'a=rtcp-fb:* nack\r\n'),
    /a media section has at most 128 formats$/,
  ],
  ['attributes', fullOffer(' 8', 'a=some-attribute-of-its-own\r\n'), /at most 2048 attributes$/],
  [
    'candidates',
    fullOffer(' 8', 'a=candidate:1 1 UDP 1 192.0.2.1 9 typ host\r\n'),
    /at most 512 of a=candidate$/,
  ],
  ['sources', fullOffer(' 8', 'a=ssrc:1 cname:some-name-of-its-own\r\n'), /at most 1024 of a=ssrc$/],
  [
    'extensions',
    fullOffer(' 8', 'a=extmap:1 urn:ietf:params:rtp-hdrext:toffset\r\n'),
    /at most 256 of a=extmap$/,
  ],
  ['feedback', fullOffer(' 8', 'a=rtcp-fb:* some feedback of its own\r\n'), /at most 1536 of a=rtcp-fb$/],
];
for (const [what, offer, sentence] of countless)
  test(`an offer with too many ${what} is refused by the name of the limit, before any work`, () => {
    const startedMs = performance.now();
    assert.match(answer(offer).join('\n'), sentence);
    assert(performance.now() - startedMs < hangMs);
  });

for (const [what, offer] of hostileOffers)
  test(`an offer of ${what} is refused before any work`, () => {
    assert(Buffer.byteLength(offer) <= rtcOfferBytesMax);
    const startedMs = performance.now();
    assert.match(answer(offer).join('\n'), /line 3, m=audio .* at most \d+ (?:formats|characters)$/);
    assert(performance.now() - startedMs < hangMs);
  });

test('formats and attributes of an offer are read in linear time', () => {
  for (const attribute of [
    'a=rtcp-fb:* nack\r\n',
    'a=rtcp-fb:* ccm fir\r\na=rtpmap:9 a/1\r\n',
    `a=fmtp:8 ${'a=1;'.repeat(30)}\r\n`,
  ])
    for (const bytes of [4 * 1024, 8 * 1024]) {
      const startedMs = performance.now();
      const read = readOffer(fullOffer(everyFormat, attribute.repeat(2), bytes));
      assert(performance.now() - startedMs < hangMs);
      assert(read.ok, read.ok ? '' : read.error);
      const codecs = read.value.sections.flatMap((section) => section.codecs);
      assert(codecs.length > 0);
      const kept = codecs.reduce((sum, codec) => sum + codec.feedback.size + codec.parameters.size, 0);
      assert(kept <= codecs.length * 8, `${kept} values of ${codecs.length} codecs`);
    }
});

test('a repeated format is one codec', () => {
  const read = readOffer(fullOffer(' 8'.repeat(sdpFormatsMax), `a=fmtp:8 ${'a;'.repeat(4000)}\r\n`, 10_000));
  assert(read.ok);
  assert.deepEqual(
    read.value.sections.map(({ codecs }) => codecs.length),
    [1],
  );
});

test('an offer with far more sections, formats, feedback, sources and candidates than browsers have is read', () => {
  const [head = '', audio = '', video = ''] = chromium.split(/(?=^m=)/m);
  const candidates = 'a=candidate:1 1 udp 2122260223 192.0.2.1 54400 typ host generation 0\r\n'.repeat(40);
  const videos = Array.from({ length: 6 }, (_, index) => video.replace('a=mid:1', `a=mid:video${index}`));
  const offer = `${head.replace('BUNDLE 0', 'BUNDLE 0 video0')}${audio}${candidates}${videos.join('')}`;
  assert(Buffer.byteLength(offer) < rtcOfferBytesMax);
  assert.equal(shapes(offer)[0], 'm=audio 9 UDP/TLS/RTP/SAVPF 111');
});

test('a fragment with too many lines is refused by the name of the limit', () => {
  const read = readIceFragment('a=x\n'.repeat(4096));
  assert(!read.ok);
  assert.match(read.error, /at most 1024 lines$/);
});

test('advertised addresses replace the local ones, with the bound port', () => {
  const local = ['1 1 UDP 2114977791 10.0.0.7 8083 typ host', '2 1 UDP 2114977535 fd00::7 8083 typ host'];
  assert.deepEqual(advertised(local, []), local);
  assert.deepEqual(advertised(local, ['192.0.2.1', '2001:db8::1']), [
    '1 1 UDP 2130706303 192.0.2.1 8083 typ host',
    '2 1 UDP 2130706175 2001:db8::1 8083 typ host',
  ]);
});

test('a fragment has candidates and their credentials', () => {
  const candidates =
    'm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1 1 UDP 1 192.0.2.1 9 typ host\r\n';
  assert.deepEqual(readIceFragment(candidates), { ok: true, value: null });
  const ice = { ufrag: 'abcd', password: 'x'.repeat(22) };
  const named = `a=ice-ufrag:${ice.ufrag}\r\na=ice-pwd:${ice.password}\r\n${candidates}`;
  assert.deepEqual(readIceFragment(named), { ok: true, value: ice });
  assert.equal(readIceFragment('a=ice-ufrag:abcd\r\n').ok, false);
  assert.equal(readIceFragment('hello').ok, false);
});
