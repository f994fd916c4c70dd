/** The page that shows a call: the source from the phone beside the output to the device, and the figures of both. */
import type { CallSession, ResolutionMode, Size } from '../../model/call.ts';
import { mediaFrameResults, type MediaFrameResult } from '../../model/media/picture.ts';
import { Html, html } from './html-text.ts';
import { watchScript } from './watch-script.ts';
import { watchStyle } from './watch-style.ts';

/** Pixels of the page that the device's screen is drawn in, at most; `narrow`: on a phone. */
const screenSpace = { wide: { width: 500, height: 330 }, narrow: { width: 280, height: 330 } } as const;

/** `key`: by which the page asks. `nonce`: of base64url, by which its script and its style are known. */
export function watchPage(call: CallSession, key: string, nonce: string): Html {
  const { deviceId, sessionId, room, media } = call;
  const content = html`<header>
      <div>
        <h1>Call of <bdi>${deviceId}</bdi></h1>
        <p class="names">
          session <code>${sessionId}</code>, room <code><bdi>${room.roomId}</bdi></code>
        </p>
      </div>
      <ul class="chips">
        <li data-show="state">${call.state}</li>
        <li data-show="device">device</li>
        <li data-show="bridge">bridge</li>
        <li data-show="way" title="How this page has the call">not open</li>
        <li class="tool"><button type="button" data-sound aria-pressed="false" disabled>Sound</button></li>
      </ul>
      <p class="news" role="status" data-show="news"></p>
    </header>
    <main data-key="${key}" data-output="${media.downVideo}">
      <audio></audio>
      ${media.noVideo ? html`<p>This call is audio only: there are no pictures.</p>` : pictures(call)}
      <div class="pair">
        <section>
          <h2>Frames and packets <span class="total" data-show="dropped">0 dropped</span></h2>
          <table>
            <thead>
              <tr>
                <th scope="col" class="count">count</th>
                <th scope="col">what became of them</th>
                <th scope="col">in metrics</th>
              </tr>
            </thead>
            <tbody>
              ${mediaFrameResults.map(resultRow)}
            </tbody>
          </table>
          <p data-show="none">None yet.</p>
        </section>
        <section>
          <h2>Delays and requests</h2>
          <dl class="figures">
            ${workFigure('delay of a picture', 'frame', 'from the frame’s arrival: of half of them, and of 99 in 100, at most')}
            ${workFigure('computing', 'work', 'its part of the delay')}
            ${workFigure('rebuilds', 'rebuilds', 'scalers and encoders made anew, since a size changed')}
            ${workFigure('key frames requested', 'keys', 'whole pictures asked for, where others need one to begin with')}
            ${workFigure('viewers', 'viewers', 'at most two of a call at once: a page is one by WebRTC, two by MJPEG')}
            ${workFigure('way to this page', 'network', 'by WebRTC: there and back, and how long video then waits to be shown')}
          </dl>
        </section>
      </div>
    </main>
    <script nonce="${nonce}">
      ${new Html(watchScript)};
    </script>`;
  return frame(`Call of ${deviceId}`, nonce, [new Html(watchStyle), screenRule(media.screen)], content);
}

/** The page for a viewer who came too late, or without a ticket. */
export function noWatchPage(sentence: string, nonce: string): Html {
  return frame(
    'No call to see',
    nonce,
    [new Html(watchStyle)],
    html`<main class="refusal">
      <h1>${sentence}</h1>
      <p>A page opens once, within a minute of being asked for. Ask for another:</p>
      <pre>
reveille calls list
reveille calls watch SESSION</pre>
    </main>`,
  );
}

function frame(title: string, nonce: string, styles: readonly Html[], content: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="dark" />
        <title>${title} · Reveille</title>
        <style nonce="${nonce}">
          ${styles}
        </style>
      </head>
      <body>
        ${content}
      </body>
    </html> `;
}

function pictures({ media }: CallSession): Html {
  const { screen, resolution, downVideo } = media;
  const target = screen === null ? 'a device that told no screen' : `${screen.width}×${screen.height} pixels`;
  return html`<div class="pair">
    <figure>
      <figcaption>
        <h2>From the phone</h2>
        <span>as it was sent</span>
      </figcaption>
      <div class="stage">
        <div class="shown" data-stage="source">${shownBy('source', 'What the phone sends')}</div>
      </div>
      ${streamFigures('source')}
    </figure>
    <figure>
      <figcaption>
        <h2>On the device’s screen</h2>
        <span>${target}, ${scalings[resolution]}, as ${downVideo}</span>
      </figcaption>
      <div class="stage">
        <div class="device">
          <div class="shown screen" data-stage="output">
            ${shownBy('output', 'What the device is shown on its screen')}
          </div>
        </div>
      </div>
      ${streamFigures('output')}
    </figure>
  </div>`;
}

/** One of them at a time: MJPEG, video by WebRTC, and single pictures by WebRTC. */
function shownBy(stream: 'source' | 'output', meaning: string): Html {
  return html`<img id="${stream}" alt="${meaning}" hidden />
    <video aria-label="${meaning}" muted autoplay playsinline hidden></video>
    <canvas role="img" aria-label="${meaning}" hidden></canvas>`;
}

const scalings: Readonly<Record<ResolutionMode, string>> = {
  auto: 'no larger than the picture (auto)',
  fit_screen: 'the whole picture (fit_screen)',
  fill_screen: 'filled, what is beyond cut off (fill_screen)',
};

/** The screen is drawn in whole pixels where it can be: a picture of another size is seen to be one. */
function screenRule(screen: Size | null): Html {
  if (screen === null) return new Html('');
  const { width, height } = screen;
  const zoomIn = (space: Size): string => {
    const zoom = Math.min(space.width / width, space.height / height);
    return String(zoom >= 1 ? Math.floor(zoom) : zoom.toFixed(3));
  };
  return html`.screen { width: ${width}px; height: ${height}px; zoom: ${zoomIn(screenSpace.wide)}; } @media
  (max-width: 640px) { .screen { zoom: ${zoomIn(screenSpace.narrow)}; } }`;
}

function streamFigures(stream: 'source' | 'output'): Html {
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

function workFigure(name: string, place: string, meaning: string): Html {
  return html`<div data-figure="${place}">
    <dt>${name}</dt>
    <dd data-show="${place}">–</dd>
    <dd class="meaning">${meaning}</dd>
  </div>`;
}

/** Hidden while there is none of it. */
function resultRow(result: MediaFrameResult): Html {
  const { kind, meaning } = results[result];
  return html`<tr class="${kind}" data-result="${result}" hidden>
    <td class="count">0</td>
    <th scope="row">${meaning}</th>
    <td class="meaning"><code>${result}</code></td>
  </tr>`;
}

/** `sent`: it went on; `spared`: it had no receiver; `drop`: it was lost to a receiver. */
const results: Readonly<Record<MediaFrameResult, { kind: 'sent' | 'spared' | 'drop'; meaning: string }>> = {
  encoded: { kind: 'sent', meaning: 'made into pictures and sent' },
  passed: { kind: 'sent', meaning: 'video sent on as it came' },
  audio: { kind: 'sent', meaning: 'packets of sound sent on as they came' },
  transcoded: { kind: 'sent', meaning: 'packets of sound made anew and sent' },
  undecodable: { kind: 'drop', meaning: 'lost: corrupt' },
  too_large: { kind: 'drop', meaning: 'lost: larger than is allowed' },
  no_key_frame: { kind: 'drop', meaning: 'lost: a key frame before it is missing, and was asked for' },
  too_small: { kind: 'drop', meaning: 'lost: nothing would be left of one side' },
  rebuild_failed: {
    kind: 'drop',
    meaning: 'lost: what it needs could not be made: a scaler, a decoder or an encoder',
  },
  engine: { kind: 'drop', meaning: 'lost: the worker that had it is gone' },
  overdue: { kind: 'drop', meaning: 'lost: decoding it, or one shortly before, took too long' },
  slow_leg: { kind: 'drop', meaning: 'lost: its receiver did not keep up' },
  paced: { kind: 'spared', meaning: 'left out: more a second than are shown' },
  load: { kind: 'drop', meaning: 'lost: no worker had time to convert it' },
  unsupported: { kind: 'drop', meaning: 'lost: of a format that the device does not take' },
  no_receiver: { kind: 'spared', meaning: 'left out: nobody was there to have it' },
};
