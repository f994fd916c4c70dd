/** The page that shows a call: the source from the phone beside the output to the device, and the figures of both. */
import type { CallSession, Size } from '../../model/call.ts';
import { mediaFrameResults, type MediaFrameResult } from '../../model/picture.ts';
import { Html, html } from './html-text.ts';
import { watchScript } from './watch-script.ts';
import { watchStyle } from './watch-style.ts';

/** Pixels of the page that the device's screen is drawn in, at most. */
const screenSpace: Size = { width: 500, height: 330 };

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
      </ul>
      <p class="news" role="status" data-show="news"></p>
    </header>
    <main data-key="${key}">
      ${media.noVideo ? html`<p>This call is audio only: there are no pictures.</p>` : pictures(call)}
      <div class="pair">
        <section>
          <h2>Frames and packets <span class="total" data-show="dropped">0 dropped</span></h2>
          <table>
            <thead>
              <tr>
                <th scope="col">result</th>
                <th scope="col" class="count">count</th>
                <th scope="col">that is</th>
              </tr>
            </thead>
            <tbody>
              ${mediaFrameResults.map(resultRow)}
            </tbody>
          </table>
          <p data-show="none">None yet.</p>
        </section>
        <section>
          <h2>Work</h2>
          <dl class="figures">
            ${workFigure('frame time, p50 / p99', 'frame', 'from a frame’s coming to its picture')}
            ${workFigure('worker time, p50 / p99', 'work', 'of it, the worker’s')}
            ${workFigure('rebuilds', 'rebuilds', 'scalers and encoders made anew, as a size changed')}
            ${workFigure('key frames asked', 'keys', 'of the bridge, or of the device')}
            ${workFigure('watching', 'viewers', 'two may at once, and this page is two')}
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
  const target =
    screen === null ? 'a device that told no screen' : `a screen of ${screen.width}×${screen.height}`;
  return html`<div class="pair">
    <figure>
      <figcaption>
        <h2>Source</h2>
        <span>what the phone sends, in its own size</span>
      </figcaption>
      <div class="stage"><img id="source" alt="What the phone sends" /></div>
      ${streamFigures('source')}
    </figure>
    <figure>
      <figcaption>
        <h2>Output</h2>
        <span>${resolution} for ${target}, as ${downVideo}</span>
      </figcaption>
      <div class="stage">
        <div class="device">
          <div class="screen"><img id="output" alt="What the device is shown on its screen" /></div>
        </div>
      </div>
      ${streamFigures('output')}
    </figure>
  </div>`;
}

/** The screen is drawn in whole pixels where it can be: a picture of another size is seen to be one. */
function screenRule(screen: Size | null): Html {
  if (screen === null) return new Html('');
  const { width, height } = screen;
  const zoom = Math.min(screenSpace.width / width, screenSpace.height / height);
  const whole = zoom >= 1 ? Math.floor(zoom) : zoom.toFixed(3);
  return html`.screen { width: ${width}px; height: ${height}px; zoom: ${whole}; }`;
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
  return html`<div>
    <dt>${name}</dt>
    <dd data-show="${place}">–</dd>
    <dd class="meaning">${meaning}</dd>
  </div>`;
}

/** Hidden while there is none of it. */
function resultRow(result: MediaFrameResult): Html {
  const { kind, meaning } = results[result];
  return html`<tr class="${kind}" data-result="${result}" hidden>
    <th scope="row">${result}</th>
    <td class="count">0</td>
    <td class="meaning">${meaning}</td>
  </tr>`;
}

/** `sent`: it went on; `spared`: it had no receiver; `drop`: it was lost to a receiver. */
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
