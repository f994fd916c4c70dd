/** The figures of the page that shows a call; its script fills them in, by their names. */
import type { MediaFrameResult } from '../../model/picture.ts';
import { html, type Html } from './html-text.ts';

export function streamFigures(stream: 'source' | 'output'): Html {
  return html`<p class="missing" data-missing="${stream}">No picture yet.</p>
    <dl class="stream">
      <div>
        <dt>format</dt>
        <dd data-show="${stream} format">–</dd>
      </div>
      <div>
        <dt>size</dt>
        <dd data-show="${stream} size">–</dd>
      </div>
      <div>
        <dt>frames</dt>
        <dd data-show="${stream} rate">–</dd>
      </div>
      <div>
        <dt>rate</dt>
        <dd data-show="${stream} bits">–</dd>
      </div>
    </dl>`;
}

export function workFigure(name: string, place: string, meaning: string): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd data-show="${place}">–</dd>
    <dd class="meaning">${meaning}</dd>
  </div>`;
}

/** Hidden while there is none of it. */
export function resultRow(result: MediaFrameResult): Html {
  const { kind, meaning } = results[result];
  return html`<tr class="${kind}" data-result="${result}" hidden>
    <th scope="row">${result}</th>
    <td class="count">0</td>
    <td class="meaning">${meaning}</td>
  </tr>`;
}

/** `sent`: it went on; `spared`: nobody was to have it; `drop`: somebody would have had it. */
const results: Readonly<Record<MediaFrameResult, { kind: 'sent' | 'spared' | 'drop'; meaning: string }>> = {
  encoded: { kind: 'sent', meaning: 'pictures that went out' },
  passed: { kind: 'sent', meaning: 'video sent on untouched' },
  audio: { kind: 'sent', meaning: 'packets sent on' },
  undecodable: { kind: 'drop', meaning: 'corrupt' },
  too_large: { kind: 'drop', meaning: 'beyond the largest size' },
  no_key_frame: { kind: 'drop', meaning: 'it needs a key frame that is missing; one was asked for' },
  too_small: { kind: 'drop', meaning: 'a side of its picture would be nothing' },
  rebuild_failed: { kind: 'drop', meaning: 'no scaler or encoder could be made for it' },
  engine: { kind: 'drop', meaning: 'the worker that had it is gone' },
  slow_leg: { kind: 'drop', meaning: 'its receiver did not keep up' },
  paced: { kind: 'spared', meaning: 'above the frame rate' },
  unsupported: { kind: 'drop', meaning: 'of a format that the device does not take' },
  no_receiver: { kind: 'spared', meaning: 'nobody was there to have it' },
};
