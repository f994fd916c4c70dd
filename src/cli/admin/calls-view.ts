/** Live calls as text for people. Ids of devices and rooms come from outside, so control characters are escaped. */
import type { CallJson, CallMediaJson } from '../../gateways/admin/call-routes.ts';
import { ageInWords } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';

export function callsTable(calls: readonly CallJson[], nowMs: number): string {
  if (calls.length === 0) return 'no live calls';
  const heading = ['SESSION', 'DEVICE', 'ROOM', 'STATE', 'ISSUED', 'CONNECTED', 'MEDIA'];
  const rows = calls.map((call) => [
    call.session,
    showable(call.device_id),
    showable(call.room_id),
    call.state,
    ageInWords(Date.parse(call.created_at), nowMs),
    legsInWords(call.legs),
    mediaInWords(call.media),
  ]);
  return alignColumns([heading, ...rows]);
}

function legsInWords({ device, bridge }: CallJson['legs']): string {
  const connected = [...(device ? ['device'] : []), ...(bridge ? ['bridge'] : [])];
  return connected.length === 0 ? 'nobody' : connected.join(', ');
}

function mediaInWords(media: CallMediaJson): string {
  const { screen_width: width, screen_height: height } = media;
  if (media.no_video) return `audio only, ${media.down_audio_mt}`;
  const screen = width === null || height === null ? '' : ` ${media.video_res_mode} ${width}×${height}`;
  return `${media.up_video_mt} up, ${media.down_video_mt} down${screen}, ${media.down_audio_mt}`;
}
