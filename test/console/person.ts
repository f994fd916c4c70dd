/** A person at the console, who presses buttons, types and reads. */
import type { Chromium } from '../support/chromium.ts';

export const hasRows = `document.querySelector('tbody tr') !== null`;

export class Person {
  readonly browser: Chromium;
  readonly #origin: string;

  constructor(browser: Chromium, origin: string) {
    this.browser = browser;
    this.#origin = origin;
  }

  async logIn(token: string): Promise<void> {
    const { browser } = this;
    await browser.until(`document.querySelector('#token') !== null`);
    await browser.evaluate(`document.querySelector('#token').value = ${JSON.stringify(token)}`);
    await this.press('Log in');
  }

  /** Presses the button with this text, in the dialog if there is one. */
  async press(text: string): Promise<void> {
    const find = `[...(document.querySelector('dialog') ?? document).querySelectorAll('button')].find((each) => each.textContent === ${JSON.stringify(text)})`;
    await this.browser.until(`${find} !== undefined`);
    await this.browser.evaluate(`${find}.click()`);
  }

  /** Opens a view and waits until it shows its data. */
  async visit(hash: string, ready: string): Promise<void> {
    await this.browser.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await this.browser.until(ready);
  }

  /** Fills the fields of the dialog by name, and confirms it. */
  async fillIn(values: Readonly<Record<string, string>>, verb: string): Promise<void> {
    await this.browser.until(`document.querySelector('dialog form') !== null`);
    for (const [name, value] of Object.entries(values))
      await this.browser.evaluate(
        `document.querySelector('dialog [name=${name}]').value = ${JSON.stringify(value)}`,
      );
    await this.press(verb);
  }

  /** Returns the secret with this name, which the dialog shows once, and closes the dialog. */
  async keepSecret(name: string): Promise<string> {
    const find = `[...document.querySelectorAll('dialog dt')].find((each) => each.textContent === ${JSON.stringify(name)})`;
    await this.browser.until(`${find} !== undefined`);
    const value = await this.browser.evaluate<string>(
      `${find}.nextElementSibling.querySelector('code').textContent`,
    );
    await this.press('Close');
    return value;
  }

  async sees(text: string): Promise<void> {
    await this.browser.until(`document.body.innerText.includes(${JSON.stringify(text)})`);
  }

  /** Resolves when the login is drawn, after the page has asked for a session. */
  async open(): Promise<void> {
    await this.browser.open(`${this.#origin}/`);
    await this.browser.until(`document.querySelector('#token') !== null`);
  }
}
