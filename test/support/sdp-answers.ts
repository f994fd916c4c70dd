/** Answers an offer, and asserts the rules that every answer has to keep. */
import assert from 'node:assert/strict';
import { agree } from '../../src/media/webrtc/agreement.ts';
import { writeAnswer } from '../../src/protocol/sdp/media-answer.ts';
import { readOffer } from '../../src/protocol/sdp/media-offer.ts';

const transport = {
  ufrag: 'ours',
  password: 'p'.repeat(22),
  fingerprint: 'sha-256 AA:BB',
  setup: 'active',
  candidates: ['1 1 UDP 2114977791 192.0.2.7 8083 typ host'],
};

/** Lines of the answer, or the sentence of the refusal. */
export function answer(offer: string): string[] {
  const read = readOffer(offer);
  const agreement = read.ok ? agree(read.value) : read;
  if (!agreement.ok) return [agreement.error];
  const ssrcs = { audio: 11, video: 22 };
  const terms = { accepted: agreement.value, transport, ssrcs, sourceName: 'name', messageBytesMax: 1000 };
  const text = writeAnswer(terms);
  assert(text.endsWith('\r\n'));
  const lines = text.slice(0, -2).split('\r\n');
  assertAnswers(offer, lines);
  return lines;
}

/** The sentence of the refusal; throws when the offer is answered. */
export function refusalOf(offer: string): string {
  const [sentence = '', ...more] = answer(offer);
  assert.deepEqual(more, [], `the offer was answered:\n${offer}`);
  return sentence;
}

export function shapes(offer: string): string[] {
  return answer(offer).filter((line) => /^m=|^a=(?:sendrecv|sendonly|recvonly|inactive)$/.test(line));
}

/** Sections of a description, each from its media line, and the head before them. */
export function sectionsOf(lines: readonly string[]): { head: string[]; sections: string[][] } {
  const sections: string[][] = [[]];
  for (const line of lines) {
    if (line.startsWith('m=')) sections.push([]);
    sections.at(-1)?.push(line);
  }
  const [head = [], ...media] = sections;
  return { head, sections: media };
}

const reverse: Readonly<Record<string, string>> = { sendonly: 'recvonly', recvonly: 'sendonly' };

/** Rules: RFC 3264, 6; RFC 9429, 5.3.1; RFC 9143, 7.3. */
function assertAnswers(offer: string, answered: readonly string[]): void {
  const asked = sectionsOf(offer.split(/\r?\n/).map((line) => line.trimEnd()));
  const given = sectionsOf(answered);
  assert.deepEqual(
    given.head.slice(0, 4).map((line) => line.slice(0, 2)),
    ['v=', 'o=', 's=', 't='],
  );
  assert.equal(given.sections.length, asked.sections.length, 'as many media sections as the offer');
  const mids = new Set<string>();
  for (const [index, section] of given.sections.entries()) {
    const [wanted = [], [mediaLine = '']] = [asked.sections[index], section];
    const [kind, port, protocol, ...formats] = mediaLine.slice(2).split(' ');
    const [offeredKind, offeredPort, offeredProtocol, ...offeredFormats] = (wanted[0] ?? '')
      .slice(2)
      .split(/ +/);
    assert.deepEqual([kind, protocol], [offeredKind, offeredProtocol], 'kind and protocol of the offer');
    assert(
      formats.every((format) => offeredFormats.includes(format)),
      'formats of the offer',
    );
    assert.equal(section[1], 'c=IN IP4 0.0.0.0');
    const mid = wanted.find((line) => line.startsWith('a=mid:'));
    assert.deepEqual(
      section.filter((line) => line.startsWith('a=mid:')),
      mid === undefined ? [] : [mid],
    );
    assert(!section.some((line) => /^a=(?:bundle-only|simulcast|rid|rtcp-mux-only)/.test(line)));
    if (port === '0') {
      assert.deepEqual(section.slice(2), [...(mid === undefined ? [] : [mid]), 'a=inactive']);
      continue;
    }
    assert.equal(port, '9');
    assert(
      !offeredPort?.startsWith('0') || wanted.includes('a=bundle-only'),
      'a section that is off stays off',
    );
    if (mid !== undefined) mids.add(mid.slice('a=mid:'.length));
    assert.match(
      section.join('\n'),
      /^a=ice-ufrag:ours$[^]*^a=ice-pwd:p+$[^]*^a=fingerprint:[^]*^a=setup:active$/m,
    );
    const direction = section.filter((line) => /^a=(?:sendrecv|sendonly|recvonly|inactive)$/.test(line));
    assert.equal(direction.length, kind === 'application' ? 0 : 1);
    const [offered = 'a=sendrecv'] = [wanted, asked.head].flatMap((level) =>
      level.filter((line) => /^a=(?:sendrecv|sendonly|recvonly|inactive)$/.test(line)),
    );
    if (kind !== 'application' && offered !== 'a=sendrecv')
      assert.deepEqual(direction, [`a=${reverse[offered.slice(2)] ?? offered.slice(2)}`]);
    if (kind !== 'application') assert(section.includes('a=rtcp-mux'));
  }
  const group = given.head.find((line) => line.startsWith('a=group:'));
  if (group === undefined) {
    assert(
      given.sections.filter(([line]) => / 9 /.test(line ?? '')).length === 1,
      'one section without a group',
    );
    return;
  }
  const [semantics, ...named] = group.split(' ');
  assert.equal(semantics, 'a=group:BUNDLE');
  assert.deepEqual(new Set(named), mids, 'the group has the accepted sections');
  const owner = given.sections.find((section) => section.includes(`a=mid:${named[0]}`));
  const withCandidates = given.sections.filter((section) => section.includes('a=end-of-candidates'));
  assert.deepEqual(withCandidates, [owner], 'the tagged section has the candidates');
}
