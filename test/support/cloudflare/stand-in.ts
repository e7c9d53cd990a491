/**
 * A stand-in of Cloudflare's API on loopback, for wrangler and the project's commands. It knows the
 * calls that these make, keeps D1 databases on SQLite, and can fail any request on demand.
 *
 * docs/operate/runbook.md lists the behaviour of the real service that it cannot show.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { vi } from 'vitest';
import type { Account as OpenAccount } from '../../../tools/cloudflare/account.ts';
import { CloudflareApi } from '../../../tools/cloudflare/api.ts';
import { ACCOUNT_ID, Account } from './account.ts';
import { ApiFault } from './database.ts';

/** A fault of the requests that `request` matches, such as `POST .../query`. */
export type Fault = {
  request: RegExp;
  /** 0 cuts the connection. */
  status: number;
  /** The number of requests that meet the fault; without a number, all of them. */
  times?: number;
  /** The number of requests that pass before the fault. */
  skip?: number;
  /** The request is carried out, and only its response is lost. */
  isAfter?: boolean;
  /** Only requests whose body matches meet the fault. */
  body?: RegExp;
  /** Every later request fails too. */
  isLast?: boolean;
};

export class CloudflareStandIn {
  readonly account = new Account();
  /** Every request, as `METHOD /path`. */
  readonly requests: string[] = [];
  /** Requests that the stand-in does not know: a test fails for them. */
  readonly unknown: string[] = [];
  faults: Fault[] = [];
  readonly #server: Server = createServer((request, response) => {
    void this.#serve(request, response);
  });

  /** The value of `CLOUDFLARE_API_BASE_URL`. */
  get base(): string {
    return `${this.origin}/client/v4`;
  }

  /** Serves the deployed Worker's health, for `SERVICE_ORIGIN`. */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The environment with which programs take it for Cloudflare. */
  get environment(): Record<string, string> {
    return {
      CLOUDFLARE_API_BASE_URL: this.base,
      CLOUDFLARE_API_TOKEN: 'token-of-the-stand-in',
      CLOUDFLARE_ACCOUNT_ID: '',
      SERVICE_ORIGIN: this.origin,
    };
  }

  /**
   * Opens the account in this process. A call is attempted five times, as by a program, but without
   * pauses.
   */
  openAccount(base = this.base): OpenAccount {
    vi.stubEnv('CLOUDFLARE_API_BASE_URL', base);
    const api = new CloudflareApi('token', [0, 0, 0, 0]);
    return { api, id: ACCOUNT_ID, path: `/accounts/${ACCOUNT_ID}`, environment: {} };
  }

  /**
   * From the first request on whose body matches, every response is lost; that request is carried
   * out.
   */
  failFrom(body: RegExp): void {
    this.faults = [{ request: /./, body, status: 502, isAfter: true, isLast: true }];
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    this.account.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.origin);
    const body = await text(request);
    const name = `${request.method} ${url.pathname.replace('/client/v4', '')}`;
    this.requests.push(name);
    const fault = this.#faultFor(name, body);
    if (fault !== undefined && !fault.isAfter) return fail(fault, response);
    const { status, body: known } = this.#respond(name, url.searchParams, body);
    if (fault !== undefined) return fail(fault, response);
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(known));
  }

  #respond(name: string, query: URLSearchParams, body: string): { status: number; body: object } {
    try {
      const known = this.account.respond(name, query, body);
      if (known !== undefined) return { status: 200, body: known };
      this.unknown.push(name);
      return new ApiFault(404, 7003, `the stand-in does not know ${name}`);
    } catch (error) {
      return error instanceof ApiFault ? error : new ApiFault(500, 10013, String(error));
    }
  }

  #faultFor(name: string, text: string): Fault | undefined {
    const fault = this.faults.find(
      ({ request, body }) => request.test(name) && (body?.test(text) ?? true),
    );
    if (fault === undefined) return undefined;
    const { skip = 0, times = Number.POSITIVE_INFINITY } = fault;
    if (skip > 0) {
      fault.skip = skip - 1;
      return undefined;
    }
    fault.times = times - 1;
    if (fault.times === 0) this.faults = this.faults.filter((each) => each !== fault);
    if (fault.isLast) this.faults = [{ request: /./, status: 502 }];
    return fault;
  }
}

/** Responds as Cloudflare's API does, or, beyond 500, as a proxy before it: with a page. */
function fail({ status }: Fault, response: ServerResponse): void {
  if (status === 0) {
    response.destroy();
  } else if (status < 500) {
    response.writeHead(status, { 'Content-Type': 'application/json' });
    const code = status === 403 ? 10_000 : 10_001;
    response.end(JSON.stringify(new ApiFault(status, code, `code ${code}`).body));
  } else {
    response.writeHead(status, { 'Content-Type': 'text/html' });
    response.end(`<html><title>${status}</title></html>`);
  }
}
