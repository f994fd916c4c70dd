/**
 * Rules for offers and answers: RFC 9429 (JSEP; 5.1.2, 5.3.1, 5.8), RFC 8866 (SDP) and RFC 9143 (BUNDLE). `answer` checks every
 * answer against the rules that apply to all.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rtcCompatibleReportMs, rtcReportMs } from '../../src/model/media/rtc-limits.ts';
import { sdpMidCharactersMax } from '../../src/model/media/sdp-limits.ts';
import { agree, type AgreedOffer } from '../../src/media/webrtc/agreement.ts';
import { readIceFragment } from '../../src/protocol/sdp/ice-fragment.ts';
import { readOffer } from '../../src/protocol/sdp/media-offer.ts';
import { chanceFrom } from '../support/seeded-random.ts';
import { answer, refusalOf, sectionsOf, shapes } from '../support/sdp-answers.ts';
import { readFromRoot } from '../support/checkout.ts';

const crlf = (lines: readonly string[]): string => lines.map((line) => `${line}\r\n`).join('');
const head = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 't=0 0'];
const opus = ['a=rtpmap:111 opus/48000/2'];
const h264 = ['a=rtpmap:96 H264/90000', 'a=fmtp:96 packetization-mode=1;profile-level-id=42e01f'];
const sha256 = Array.from({ length: 32 }, (_, index) => (index + 16).toString(16).toUpperCase()).join(':');
const [ufrag, password] = ['a=ice-ufrag:u+/4', 'a=ice-pwd:0123456789abcdefghijk+/'];
const [fingerprint, setup] = [`a=fingerprint:sha-256 ${sha256}`, 'a=setup:actpass'];
const transportLines = [ufrag, password, fingerprint, setup];
const bytes = (count: number): string => Array.from({ length: count }, () => 'AB').join(':');

/** A section with a transport of its own, and these additional lines. */
function audio(mid: string, ...more: string[]): string[] {
  return [
    'm=audio 9 UDP/TLS/RTP/SAVPF 111',
    `a=mid:${mid}`,
    'a=rtcp-mux',
    ...transportLines,
    ...opus,
    ...more,
  ];
}
function video(mid: string, ...more: string[]): string[] {
  return [
    'm=video 9 UDP/TLS/RTP/SAVPF 96',
    `a=mid:${mid}`,
    'a=rtcp-mux',
    ...transportLines,
    ...h264,
    ...more,
  ];
}
function channels(mid: string, ...more: string[]): string[] {
  return [
    'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
    `a=mid:${mid}`,
    'a=sctp-port:5000',
    ...transportLines,
    ...more,
  ];
}
function without(lines: readonly string[], ...beginnings: string[]): string[] {
  return lines.filter((line) => !beginnings.some((beginning) => line.startsWith(beginning)));
}
function offer(group: string | null, ...lines: (readonly string[])[]): string {
  return crlf([...head, ...(group === null ? [] : [`a=group:BUNDLE ${group}`]), ...lines.flat()]);
}
function agreed(text: string): AgreedOffer {
  const read = readOffer(text);
  const agreement = read.ok ? agree(read.value) : read;
  assert(agreement.ok, agreement.ok ? '' : agreement.error);
  return agreement.value;
}
const groupOf = (text: string): string | undefined =>
  answer(text).find((line) => line.startsWith('a=group:'));
const [sendrecv, rejected] = ['a=sendrecv', 'a=inactive'];
const [audioLine, videoLine] = ['m=audio 9 UDP/TLS/RTP/SAVPF 111', 'm=video 9 UDP/TLS/RTP/SAVPF 96'];
const [noAudio, noVideo] = ['m=audio 0 UDP/TLS/RTP/SAVPF 111', 'm=video 0 UDP/TLS/RTP/SAVPF 96'];

/**
 * Offers in the style of the stacks of browsers, encoders and devices (`offers/NAME.sdp`), written from the RFCs and each
 * stack's habits; with the answer's media lines and directions, and its group. Credentials are made up.
 */
const stackOffers: readonly (readonly [name: string, answered: readonly string[], group: string])[] = [
  // Session-level fingerprint, names in braces, mids in RTP, bundle-only video without a transport.
  ['firefox', ['audio UDP/TLS/RTP/SAVPF 109 recvonly', 'video UDP/TLS/RTP/SAVPF 126 recvonly'], '0 1'],
  // Candidates with mDNS names and TCP, several H.264 profiles, simulcast.
  ['safari', ['audio UDP/TLS/RTP/SAVPF 111 sendrecv', 'video UDP/TLS/RTP/SAVPF 98 recvonly'], '0 1'],
  // Mids with a kind and a number, transport-cc, one codec of each section.
  [
    'gstreamer',
    ['video UDP/TLS/RTP/SAVPF 96 recvonly', 'audio UDP/TLS/RTP/SAVPF 98 recvonly'],
    'video0 audio1',
  ],
  // OBS on libdatachannel: fingerprint and options at session level, level in the profile.
  ['obs', ['audio UDP/TLS/RTP/SAVPF 111 recvonly', 'video UDP/TLS/RTP/SAVPF 96 recvonly'], '0 1'],
  // Transport in each section, data channels first in the group, no rtcp-mux with them.
  [
    'pion',
    [
      'video UDP/TLS/RTP/SAVPF 125 sendrecv',
      'audio UDP/TLS/RTP/SAVPF 111 sendrecv',
      'application UDP/DTLS/SCTP webrtc-datachannel',
    ],
    '2 0 1',
  ],
  // Named mids, candidates in each section, an RTCP line and addresses.
  ['janus', ['audio UDP/TLS/RTP/SAVPF 111 recvonly', 'video UDP/TLS/RTP/SAVPF 102 recvonly'], 'a v'],
  // Line feeds only, A-law by its number, active setup, no directions, data channels of an older profile.
  [
    'esp32',
    [
      'video UDP/TLS/RTP/SAVPF 96 sendrecv',
      'audio UDP/TLS/RTP/SAVP 8 sendrecv',
      'application DTLS/SCTP 5000',
    ],
    '0 1 2',
  ],
  // Passive setup and one session-level transport, IPv6.
  ['ffmpeg', ['audio UDP/TLS/RTP/SAVPF 111 recvonly', 'video UDP/TLS/RTP/SAVPF 106 recvonly'], '0 1'],
];
for (const [name, answered, group] of stackOffers)
  test(`an offer in the style of ${name} is answered`, () => {
    const file = readFromRoot(`test/protocol/offers/${name}.sdp`);
    const text = name === 'esp32' ? file : file.replaceAll('\n', '\r\n');
    const [, ...sections] = shapes(text).join(' ').split(/ ?m=/);
    assert.deepEqual(
      sections.map((section) => section.replace(' 9 ', ' ').replace(' a=', ' ')),
      answered,
    );
    assert.equal(groupOf(text), `a=group:BUNDLE ${group}`);
  });

for (const protocol of [
  'RTP/AVP',
  'RTP/AVPF',
  'RTP/SAVP',
  'RTP/SAVPF',
  'TCP/DTLS/RTP/SAVP',
  'TCP/DTLS/RTP/SAVPF',
  'UDP/TLS/RTP/SAVP',
  'UDP/TLS/RTP/SAVPF',
])
  test(`RFC 9429, 5.1.2: the profile ${protocol} is accepted, and the answer has the same`, () => {
    const text = offer('0', audio('0')).replace('UDP/TLS/RTP/SAVPF', protocol);
    assert.deepEqual(shapes(text), [`m=audio 9 ${protocol} 111`, sendrecv]);
  });

for (const protocol of ['UDP/DTLS/SCTP', 'TCP/DTLS/SCTP', 'DTLS/SCTP'])
  test(`RFC 9429, 5.1.2: the profile ${protocol} of data channels is accepted, and the answer has the same`, () => {
    const text = offer('0', channels('0')).replace('UDP/DTLS/SCTP', protocol);
    assert.deepEqual(shapes(text), [`m=application 9 ${protocol} webrtc-datachannel`]);
  });

test('RFC 9429, 5.1.2: an SCTP port as the format, as before RFC 8841, is answered alike', () => {
  const old = channels('0')
    .join('\n')
    .replace('webrtc-datachannel', '5001')
    .replace('a=sctp-port:5000', 'a=sctpmap:5001 webrtc-datachannel 256')
    .replace('UDP/', '');
  assert.deepEqual(agreed(offer('0', old.split('\n'))).channels, {
    sctpPort: 5001,
    messageBytesMax: 65_536,
    isMapped: true,
  });
});

test('RFC 9429, 5.1.2: another profile is rejected in its place, and alone it is refused by its line', () => {
  const other = audio('0').join('\n').replace('UDP/TLS/RTP/SAVPF', 'RTP/XAVP').split('\n');
  assert.deepEqual(shapes(offer('0 1', other, video('1'))), [
    'm=audio 0 RTP/XAVP 111',
    rejected,
    videoLine,
    sendrecv,
  ]);
  assert.match(
    refusalOf(offer('0', other)),
    /: line 6, m=audio 9 RTP\/XAVP 111: offer it as UDP\/TLS\/RTP\/SAVPF$/,
  );
});

test('RFC 9429, 5.1.2: an offer without a fingerprint is refused, and the line of its section is named', () => {
  assert.equal(
    refusalOf(offer('0', without(audio('0'), 'a=fingerprint'))),
    'line 6, m=audio 9 UDP/TLS/RTP/SAVPF 111: a=fingerprint is missing',
  );
});

test('RFC 9429, 5.1.2: without AVPF and a=rtcp-fb reports are 4 s apart', () => {
  const avp = offer('0', audio('0')).replace('SAVPF', 'SAVP');
  assert.equal(agreed(avp).reportMs, rtcCompatibleReportMs);
  assert.equal(agreed(offer('0', audio('0'))).reportMs, rtcReportMs);
  assert.equal(agreed(`${avp}a=rtcp-fb:111 nack\r\n`).reportMs, rtcReportMs);
});

test('RFC 9429, 5.3.1: a section without a mid is answered without a mid', () => {
  assert.deepEqual(shapes(offer(null, without(audio('0'), 'a=mid'))), [audioLine, sendrecv]);
});

for (const [offered, answered] of [
  ['sendrecv', 'sendrecv'],
  ['sendonly', 'recvonly'],
  ['recvonly', 'sendonly'],
  ['inactive', 'inactive'],
])
  test(`RFC 9429, 5.3.1: ${offered} is answered ${answered}, in the group`, () => {
    const text = offer('0 1', audio('0', `a=${offered}`), video('1'));
    assert.deepEqual(shapes(text), [audioLine, `a=${answered}`, videoLine, sendrecv]);
    assert.equal(groupOf(text), 'a=group:BUNDLE 0 1');
  });

test('RFC 9429, 5.3.1: an offer whose sections are all inactive is refused', () => {
  assert.match(refusalOf(offer('0', audio('0', 'a=inactive'))), /: line 6, m=audio .*: it is inactive$/);
});

test('RFC 9429, 5.3.1: without a group the first section is accepted alone, and the answer has no group', () => {
  const text = offer(null, audio('0'), video('1'), channels('2'));
  assert.deepEqual(shapes(text).slice(0, 4), [audioLine, sendrecv, noVideo, rejected]);
  assert.equal(groupOf(text), undefined);
  const noOpus = without(audio('0'), 'a=rtpmap');
  assert.deepEqual(shapes(offer(null, noOpus, video('1'))), [noAudio, rejected, videoLine, sendrecv]);
});

test('RFC 9429, 5.3.1: a section outside of the group of the first is rejected', () => {
  const text = offer('0 2', audio('0'), video('1'), channels('2'));
  assert.deepEqual(shapes(text).slice(0, 4), [audioLine, sendrecv, noVideo, rejected]);
  assert.equal(groupOf(text), 'a=group:BUNDLE 0 2');
});

test('RFC 9429, 5.3.1: reduced-size RTCP, ICE options and a tls-id are answered where they are offered', () => {
  const optional = (text: string): string[] =>
    answer(text).filter((line) => /^a=(?:rtcp-rsize|ice-options|tls-id)/.test(line));
  assert.deepEqual(optional(offer('0', audio('0'))), []);
  const more = ['a=rtcp-rsize', 'a=ice-options:trickle ice2 renomination', `a=tls-id:${'t'.repeat(20)}`];
  assert.deepEqual(optional(offer('0', audio('0', ...more))), [
    'a=ice-options:ice2 trickle',
    'a=tls-id:name',
    'a=rtcp-rsize',
  ]);
  assert.deepEqual(optional(offer('0', audio('0', 'a=ice-options:trickle'))), ['a=ice-options:trickle']);
});

test('RFC 9429, 5.3.1: attributes of the session count as present in each section', () => {
  const shared = [...transportLines, 'a=rtcp-mux', 'a=sendonly', 'a=rtcp-rsize'];
  const own = ['a=ice', 'a=fingerprint', 'a=setup', 'a=rtcp-mux'];
  const text = offer('0 1', shared, without(audio('0'), ...own), without(video('1', 'a=recvonly'), ...own));
  assert.deepEqual(shapes(text), [audioLine, 'a=recvonly', videoLine, 'a=sendonly']);
  const { ice, dtls } = agreed(text).transport;
  assert.deepEqual(ice, { ufrag: 'u+/4', password: '0123456789abcdefghijk+/' });
  assert.equal(dtls.setup, 'actpass');
});

test('RFC 9429, 5.3.1: an answer omits simulcast, layers, identities, extensions and sources', () => {
  const more = [
    'a=rid:h send pt=96;max-width=1280',
    'a=rid:l send',
    'a=simulcast:send h;l recv x',
    'a=extmap:1/sendonly urn:ietf:params:rtp-hdrext:sdes:mid',
    'a=extmap-allow-mixed',
    'a=ssrc-group:SIM 1 2',
    'a=ssrc:1 cname:x',
    'a=msid:- track',
    'a=msid:stream',
    'a=identity:eyJpZHAiOnsiZG9tYWluIjoiZXhhbXBsZS5vcmcifX0=',
    'a=imageattr:96 send *',
    'a=candidate:1 1 tcp 1 2001:db8::1 9 typ host tcptype passive',
    'a=candidate:1 1 udp 1 0f0e.local 9 typ host',
    'a=candidate:no candidate at all',
    'a=end-of-candidates',
  ];
  assert.deepEqual(shapes(offer('0', video('0', ...more))), [videoLine, sendrecv]);
});

test('RFC 9429, 5.8.2: a data channel section of another application is rejected', () => {
  const other = channels('0').join('\n').replace('webrtc-datachannel', 'bfcp').split('\n');
  assert.deepEqual(shapes(offer('0 1', other, audio('1'))).slice(0, 3), [
    'm=application 0 UDP/DTLS/SCTP bfcp',
    rejected,
    audioLine,
  ]);
  assert.match(
    refusalOf(
      offer(
        '0',
        channels('0').map((line) => line.replace('a=sctp-port:5000', 'a=sctp-port:65536')),
      ),
    ),
    /: line 6, m=application .*: offer data channels as UDP\/DTLS\/SCTP webrtc-datachannel$/,
  );
});

for (const [what, lines, sentence] of [
  ['no ufrag', without(audio('0'), 'a=ice-ufrag'), /^line 6, m=audio .*: a=ice-ufrag is missing$/],
  ['no setup', without(audio('0'), 'a=setup'), /^line 6, m=audio .*: a=setup is missing$/],
  [
    'a short ufrag',
    audio('0').map((line) => line.replace(ufrag, 'a=ice-ufrag:abc')),
    /^line 9, a=ice-ufrag:abc: /,
  ],
  [
    'a long ufrag',
    audio('0').map((line) => line.replace(ufrag, `a=ice-ufrag:${'a'.repeat(257)}`)),
    /^line 9, a=ice-ufrag:a+\.\.\.: ice-ufrag is 4 to 256/,
  ],
  [
    'a password of other characters',
    audio('0').map((line) => line.replace(password, `a=ice-pwd:${'-'.repeat(22)}`)),
    /^line 10, a=ice-pwd:-+: ice-pwd is 22 to 256/,
  ],
  [
    'a setup that no offer has',
    audio('0').map((line) => line.replace(setup, 'a=setup:holdconn')),
    /^line 12, a=setup:holdconn: setup is actpass, active or passive/,
  ],
  ['ICE lite', ['a=ice-lite', ...audio('0')], /^line 6, a=ice-lite: this server sends no ICE checks/],
] as const)
  test(`RFC 9429, 5.8.3: an offer with ${what} is refused, and its line is named`, () => {
    assert.match(refusalOf(offer('0', lines)), sentence);
  });

for (const role of ['actpass', 'active', 'passive'])
  test(`RFC 8842, 5: the setup ${role} is accepted`, () => {
    const text = offer(
      '0',
      audio('0').map((line) => line.replace(setup, `a=setup:${role}`)),
    );
    assert.equal(agreed(text).transport.dtls.setup, role);
  });

test('RFC 8122, 5: one fingerprint of a strong hash is used among several, whatever the case of its name', () => {
  const given = (lines: string[], session: string[] = []) =>
    agreed(offer('0', session, without(audio('0'), 'a=fingerprint'), lines)).transport.dtls;
  const [sha1, sha512] = [
    `a=fingerprint:sha-1 ${bytes(20)}`,
    `a=fingerprint:SHA-512 ${bytes(64).toLowerCase()}`,
  ];
  assert.deepEqual(given([sha1, 'a=fingerprint:md5 AB', sha512, fingerprint]), {
    fingerprintAlgorithm: 'sha-512',
    fingerprint: bytes(64),
    setup: 'actpass',
  });
  assert.equal(given([`a=fingerprint:Sha-384 ${bytes(48)}`]).fingerprintAlgorithm, 'sha-384');
  assert.equal(given([fingerprint], [sha512]).fingerprintAlgorithm, 'sha-256', 'the media level overrides');
  assert.match(
    refusalOf(offer('0', [fingerprint], without(audio('0'), 'a=fingerprint'), [sha1])),
    /^line \d+, a=fingerprint:sha-1 AB.*: a fingerprint is sha-256/,
  );
});

for (const [what, change] of [
  ['line feeds only', (text: string) => text.replaceAll('\r\n', '\n')],
  ['both ends of lines', (text: string) => text.replace('\r\n', '\n')],
  ['no end of its last line', (text: string) => text.trimEnd()],
  ['empty lines', (text: string) => text.replaceAll('\r\n', '\r\n\r\n')],
  ['spaces and tabs at the ends of lines', (text: string) => text.replaceAll('\r\n', ' \t\r\n')],
] as const)
  test(`RFC 8866, 5: an offer with ${what} is accepted`, () => {
    assert.deepEqual(shapes(change(offer('0 1', audio('0'), video('1')))), [
      audioLine,
      sendrecv,
      videoLine,
      sendrecv,
    ]);
  });

for (const [what, session] of [
  [
    'every line of a session',
    ['i=x', 'u=http://x', 'e=x@y (z)', 'p=+1', 'c=IN IP4 192.0.2.1', 'b=AS:64', 'b=CT:1'],
  ],
  ['repeated times', ['t=3724394400 3730536000', 'r=7d 1h 0 25h', 'z=3730928400 -1h 3749680800 0']],
  ['bandwidths of unknown kinds', ['b=X-YZ:128', 'b=TIAS:64000', 'b=RR:0']],
  ['a key, which is discarded', ['k=clear:secret']],
  ['unknown attributes', ['a=x', 'a=y:z', 'a=Z-1.2:', 'a=', 'a=:', 'a=constructor:x', 'a=__proto__:y']],
  ['another character set', ['a=charset:ISO-8859-1', 'i=\ufffd', 'a=lang:de']],
  ['text of any language', ['i=Haustür 門鈴 🔔', 'a=title:Haustür']],
  ['an IPv6 connection', ['c=IN IP6 ::']],
  ['a multicast connection', ['c=IN IP4 233.252.0.1/127/3']],
] as const)
  test(`RFC 8866, 5: ${what} may stand before the first section`, () => {
    assert.deepEqual(shapes(offer('0', session, audio('0'))), [audioLine, sendrecv]);
  });

test('RFC 8866, 5: lines of media sections are accepted, and more than one port', () => {
  const lines = audio('0', 'i=x', 'c=IN IP6 2001:db8::1', 'b=TIAS:64000', 'k=prompt');
  const text = offer('0', lines).replace('m=audio 9 ', 'm=audio 49170/2 ');
  assert.deepEqual(shapes(text), [audioLine, sendrecv]);
});

for (const [what, change] of [
  ['an origin with IPv6', (text: string) => text.replace('IP4 127.0.0.1', 'IP6 2001:db8::3')],
  ['an origin with a name', (text: string) => text.replace('IP4 127.0.0.1', 'IP4 host.example')],
  ['a large id', (text: string) => text.replace('- 1 1', `user ${'9'.repeat(40)} ${'9'.repeat(20)}`)],
  ['an empty name', (text: string) => text.replace('s=-', 's=')],
  ['a space as its name', (text: string) => text.replace('s=-', 's= ')],
  ['a name of words', (text: string) => text.replace('s=-', 's=Front door, 2nd floor')],
  ['large times', (text: string) => text.replace('t=0 0', 't=99999999999 0')],
] as const)
  test(`RFC 8866, 5: an offer with ${what} is accepted`, () => {
    assert.deepEqual(shapes(change(offer('0', audio('0')))), [audioLine, sendrecv]);
  });

test('RFC 8866, 5.14: kinds and formats are tokens, and an unknown kind is rejected in its place', () => {
  const kinds = ['text', 'message', 'image', 'x-Kind.1'].map((kind) => `m=${kind} 9 TCP/MSRP *`);
  assert.deepEqual(shapes(offer('0', kinds, audio('0'))), [
    ...kinds.flatMap((line) => [line.replace(' 9 ', ' 0 '), rejected]),
    audioLine,
    sendrecv,
  ]);
});

test('RFC 8866, 6.6 and RFC 3551: PCMA needs no a=rtpmap', () => {
  const alaw = without(audio('0'), 'a=rtpmap').map((line) => line.replace('111', '0 8'));
  assert.deepEqual(shapes(offer('0', alaw)), ['m=audio 9 UDP/TLS/RTP/SAVPF 8', sendrecv]);
  assert.match(
    refusalOf(
      offer(
        '0',
        alaw.map((line) => line.replace('0 8', '0')),
      ),
    ),
    /: line 6, m=audio 9 UDP\/TLS\/RTP\/SAVPF 0: offer Opus or PCMA$/,
  );
});

test('RFC 6184, 8.1: H.264 without a profile is baseline, and without a packetization mode it is mode 0', () => {
  const withParameters = (parameters: string): string =>
    offer(
      '0',
      video('0').map((line) => line.replace(/^a=fmtp:96 .*/, `a=fmtp:96 ${parameters}`)),
    );
  assert.deepEqual(shapes(withParameters('packetization-mode=1')), [videoLine, sendrecv]);
  assert.deepEqual(shapes(withParameters(' PROFILE-LEVEL-ID=42E01F ; Packetization-Mode=1')), [
    videoLine,
    sendrecv,
  ]);
  for (const parameters of [
    'profile-level-id=42e01f',
    'packetization-mode=2',
    'packetization-mode=1;profile-level-id=42\0',
  ])
    assert.match(refusalOf(withParameters(parameters)), /offer H\.264 with packetization-mode=1$/);
});

const tokenCharacters = "!#$%&'*+-.0123456789ABCXYZ^_`abcxyz{|}~";

test('RFC 8866, 9: a mid is any token', () => {
  const mids = [
    ...tokenCharacters.split(''),
    tokenCharacters,
    'x'.repeat(sdpMidCharactersMax),
    '{8bd2-45c5}',
    '__proto__',
  ];
  for (const mid of mids) {
    const text = offer(`${mid} 1`, audio(mid), video('1'.repeat(2)));
    assert(answer(text).includes(`a=mid:${mid}`), mid);
  }
});

for (const [what, mid] of [
  ['a space', 'a b'],
  ['a quotation mark', 'a"b'],
  ['a colon', 'a:b'],
  ['no ASCII', 'ä'],
  ['no character', ''],
  ['too many characters', 'x'.repeat(sdpMidCharactersMax + 1)],
])
  test(`RFC 8866, 9: a mid with ${what} is refused, and its line is named`, () => {
    const text = offer('1', audio('1')).replace('a=mid:1', `a=mid:${mid}`);
    assert.match(refusalOf(text), /^line 7, a=mid:.*: a mid is a token of at most 255 characters$/);
  });

test('RFC 5888, 4: two sections of one mid are refused, and the line of the second is named', () => {
  assert.equal(
    refusalOf(offer('0', audio('0'), video('0'))),
    'line 15, a=mid:0: another media section has the same mid',
  );
});

for (const [what, line, sentence] of [
  ['an unknown letter', 'x=1', /: line 6, x=1: a line is one of the letters/],
  ['a capital letter', 'A=sendrecv', /: line 6, A=sendrecv: a line is one of the letters/],
  ['no letter', 'sendrecv', /: line 6, sendrecv: a line is one of the letters/],
  ['spaces before it', ' a=sendrecv', /: line 6, {2}a=sendrecv: a line is one of the letters/],
  ['a space before =', 'a =sendrecv', /: line 6, a =sendrecv: a line is one of the letters/],
  ['control characters', 'x\u0000\u001b\u202e', /: line 6, x\\u0000\\u001b\\u202e: a line is/],
  ['a version of its own', 'v=1', /: line 6, v=1: the version is 0$/],
  [
    'a connection of another network',
    'c=ATM NSAP 1',
    /: line 6, c=ATM NSAP 1: a connection is IN, IP4 or IP6/,
  ],
  ['a connection without an address', 'c=IN IP4', /: line 6, c=IN IP4: a connection is/],
  ['a bandwidth without a number', 'b=AS:many', /: line 6, b=AS:many: a bandwidth is/],
  ['a time of one number', 't=0', /: line 6, t=0: a time is two numbers$/],
  ['an origin of too few fields', 'o=- 1 1', /: line 6, o=- 1 1: an origin is/],
  ['a media line without a format', 'm=audio 9 RTP/AVP', /: line 6, m=audio 9 RTP\/AVP: a media line is/],
  ['a port that is none', 'm=audio 65536 RTP/AVP 0', /: line 6, m=audio 65536 RTP\/AVP 0: a media line is/],
  ['a kind that is no token', 'm=au"dio 9 RTP/AVP 0', /: line 6, m=au"dio 9 RTP\/AVP 0: a media line is/],
  [
    'a protocol that is no token',
    'm=audio 9 RTP//AVP 0',
    /: line 6, m=audio 9 RTP\/\/AVP 0: a media line is/,
  ],
] as const)
  test(`RFC 8866, 5: a line with ${what} is refused, and named`, () => {
    assert.match(refusalOf(offer('0', [line], audio('0'))), sentence);
  });

test('a refusal is printable, and short, whatever is offered', () => {
  const chance = chanceFrom(0x7364_7032);
  let count = 0;
  for (let i = 0; i < 2000; i += 1) {
    const junk = Array.from({ length: 1 + chance.below(40) }, () =>
      String.fromCodePoint(chance.below(0x3000)),
    );
    const lines = [...head, 'a=group:BUNDLE 0', ...audio('0')];
    lines[chance.below(lines.length)] += junk.join('').repeat(1 + chance.below(300));
    const [sentence = '', ...more] = answer(crlf(lines));
    if (more.length > 0) continue;
    count += 1;
    assert(sentence.length < 1000, `${sentence.length} characters`);
    assert.doesNotMatch(sentence, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  }
  assert(count > 500, `${count} offers were refused`);
});

test('RFC 9143, 7.3.1: the transport is of the first section that the group names, not of the first media line', () => {
  const other = (line: string): string =>
    line.replace(ufrag, 'a=ice-ufrag:other').replace(setup, 'a=setup:active');
  const text = offer('1 0', audio('0').map(other), video('1'));
  assert.deepEqual(
    [agreed(text).transport.ice.ufrag, agreed(text).transport.dtls.setup],
    ['u+/4', 'actpass'],
  );
  assert.equal(groupOf(text), 'a=group:BUNDLE 1 0');
  const [, second = []] = sectionsOf(answer(text)).sections;
  assert(second.some((line) => line.startsWith('a=candidate:')));
});

test('RFC 9143, 7.3.1: the next section of the group has the transport if the first is rejected', () => {
  const first = without(audio('0'), 'a=rtpmap').map((line) => line.replace(ufrag, 'a=ice-ufrag:other'));
  const text = offer('0 1', first, video('1'));
  assert.deepEqual(shapes(text), [noAudio, rejected, videoLine, sendrecv]);
  assert.equal(agreed(text).transport.ice.ufrag, 'u+/4');
  assert.equal(groupOf(text), 'a=group:BUNDLE 1');
});

test('RFC 9143, 7.1.3: a transport of another section does not count, even if it is malformed', () => {
  const broken = without(video('1'), 'a=setup').map((line) =>
    line.replace(/^a=(ice-\w+|fingerprint):.*/, 'a=$1:"'),
  );
  assert.deepEqual(shapes(offer('0 1', audio('0'), broken)), [audioLine, sendrecv, videoLine, sendrecv]);
});

test('RFC 9143, 6: a bundle-only section has port 0 and no transport, and has that of the group', () => {
  const bare = without(video('1', 'a=bundle-only'), 'a=ice', 'a=fingerprint', 'a=setup', 'a=rtcp-mux');
  const text = offer('0 1', audio('0'), bare).replace(videoLine, noVideo);
  assert.deepEqual(shapes(text), [audioLine, sendrecv, videoLine, sendrecv]);
  assert.equal(groupOf(text), 'a=group:BUNDLE 0 1');
  assert.deepEqual(shapes(offer('1 0', audio('0'), bare).replace(videoLine, noVideo)).length, 4);
});

test('RFC 9143, 6: a bundle-only section is rejected where no other of its group is accepted', () => {
  const text = offer('0 1', without(audio('0'), 'a=rtpmap'), video('1', 'a=bundle-only')).replace(
    videoLine,
    noVideo,
  );
  assert.match(
    refusalOf(text),
    /: offer Opus or PCMA; line \d+, m=video 0 .*: it is bundle-only, and no other/,
  );
});

test('RFC 9143, 7.3.3: a section that is off is rejected, and not in the group', () => {
  for (const group of ['0 1', '1 0', '0']) {
    const text = offer(group, audio('0'), video('1')).replace(videoLine, noVideo);
    assert.deepEqual(shapes(text), [audioLine, sendrecv, noVideo, rejected]);
    assert.equal(groupOf(text), 'a=group:BUNDLE 0');
  }
  assert.match(
    refusalOf(offer('0', audio('0')).replace(audioLine, noAudio)),
    /: line 6, m=audio 0 .*: it is off, since its port is 0$/,
  );
});

test('RFC 9143, 7: groups are independent, and one transport carries the group of the first section', () => {
  const text = offer(
    '1 2',
    ['a=group:BUNDLE 0 3', 'a=group:LS 0 1'],
    audio('0'),
    video('1'),
    channels('2'),
    video('3'),
  );
  assert.deepEqual(shapes(text).slice(0, 4), [audioLine, sendrecv, noVideo, rejected]);
  assert.equal(groupOf(text), 'a=group:BUNDLE 0 3');
});

test('RFC 5888, 6: a group may name sections that are not there, and one twice', () => {
  const text = offer('9 0 0 1', audio('0'), video('1'));
  assert.equal(groupOf(text), 'a=group:BUNDLE 0 1');
  const empty = offer(null, ['a=group:BUNDLE'], audio('0'));
  assert.deepEqual([shapes(empty).length, groupOf(empty)], [2, undefined]);
});

test('RFC 9143, 9.1.1: two codecs of one payload type are not accepted together', () => {
  const same = video('1').map((line) => line.replaceAll('96', '111'));
  assert.deepEqual(shapes(offer('0 1', audio('0'), same)), [
    audioLine,
    sendrecv,
    'm=video 0 UDP/TLS/RTP/SAVPF 111',
    rejected,
  ]);
});

test('RFC 9143, 9.3 and RFC 8858: RTCP is on the port of RTP, said by the section or by that of the transport', () => {
  const unmuxed = without(video('1'), 'a=rtcp-mux');
  assert.deepEqual(shapes(offer('0 1', audio('0'), unmuxed)).slice(2), [videoLine, sendrecv]);
  assert.deepEqual(shapes(offer('1 0', audio('0'), unmuxed)), [audioLine, sendrecv, videoLine, sendrecv]);
  assert.deepEqual(shapes(offer('0 1', channels('0'), unmuxed)).slice(1), [noVideo, rejected]);
  assert.deepEqual(shapes(offer('0 1', channels('0', 'a=rtcp-mux'), unmuxed)).slice(1), [
    videoLine,
    sendrecv,
  ]);
  assert.deepEqual(shapes(offer('0', without(audio('0'), 'a=rtcp-mux'), ['a=rtcp-mux-only'])), [
    audioLine,
    sendrecv,
  ]);
  assert.match(refusalOf(offer('1', unmuxed)), /: line 6, m=video .*: offer it with a=rtcp-mux$/);
});

test('RFC 8840, 9: a fragment names the line that is refused', () => {
  const errorOf = (text: string): string => {
    const read = readIceFragment(text);
    return read.ok ? 'accepted' : read.error;
  };
  assert.equal(errorOf('\r\nhello'), 'line 2, hello: each line of a fragment begins with a= or m=');
  assert.equal(errorOf('a=mid:0\na=ice-ufrag:abcd\n'), 'line 2, a=ice-ufrag:abcd: a=ice-pwd is missing');
  assert.match(errorOf(`${ufrag}\na=ice-pwd:short`), /^line 2, a=ice-pwd:short: ice-pwd is 22 to 256/);
});
