import "./style/fonts.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/ui.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { live } from "./app/live";

live.start();
const root = document.getElementById("root");
if (!root) throw new Error("the page has a place for the application");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
