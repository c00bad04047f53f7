"use strict";
// A page that is opened from a folder may start no worker, and the search is one: a hidden frame does its work instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inner = frame.contentWindow;
      this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inner.importScripts = async (...sources) => { for (const source of sources) await this.load(source); };
      this.load(url).then(() => { this.ready = true; this.waiting.splice(0).forEach((data) => this.postMessage(data)); });
    }
    load(source) {
      const script = this.inner.document.createElement("script");
      script.src = source;
      return new Promise((done, failed) => {
        Object.assign(script, { onload: done, onerror: failed });
        this.inner.document.body.append(script);
      });
    }
    postMessage(data) {
      if (this.ready) this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
    terminate() { this.inner.frameElement.remove(); }
  };
}
