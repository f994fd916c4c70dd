/**
 * Limits of a session description, each far above the offers of browsers (200 lines and 30 formats in a section) and
 * encoders; beyond any of them it is refused with a sentence that names the limit. Its bytes: rtc-limits.ts. Source: RFC 8866.
 */

export const sdpLinesMax = 4096;
export const sdpLineCharactersMax = 16_384;
/** Lines of a fragment of candidates. */
export const sdpFragmentLinesMax = 1024;
export const sdpSectionsMax = 64;
/** Maximum length of `a=mid`: its item in RTCP has no room for more (RFC 9143, 15). Beyond it an offer is refused. */
export const sdpMidCharactersMax = 255;
/** Characters of a line that a refusal shows, and media lines that one refusal names; the rest is cut. */
export const sdpShownCharactersMax = 80;
export const sdpSectionsShownMax = 4;
/** In one media section. RTP has 128 payload types. */
export const sdpFormatsMax = 128;
/** In one media section, or before the first; in all they are lines. */
export const sdpAttributesMax = 2048;
/** Attributes of one name, in one media section or before the first. */
export const sdpRepeatsMax: ReadonlyMap<string, number> = new Map([
  ['candidate', 512],
  ['extmap', 256],
  ['fingerprint', 64],
  ['fmtp', 256],
  ['group', 64],
  ['rtcp-fb', 1536],
  ['rtpmap', 256],
  ['ssrc', 1024],
  ['ssrc-group', 256],
]);
