/* What is used of version 1 of the protocol wlr-foreign-toplevel-management-unstable-v1, written by hand. The protocol has this
 * licence:
 *
 * Copyright © 2018 Ilia Bozhinov
 *
 * Permission to use, copy, modify, distribute, and sell this
 * software and its documentation for any purpose is hereby granted
 * without fee, provided that the above copyright notice appear in
 * all copies and that both that copyright notice and this permission
 * notice appear in supporting documentation, and that the name of
 * the copyright holders not be used in advertising or publicity
 * pertaining to distribution of the software without specific,
 * written prior permission.  The copyright holders make no
 * representations about the suitability of this software for any
 * purpose.  It is provided "as is" without express or implied
 * warranty.
 *
 * THE COPYRIGHT HOLDERS DISCLAIM ALL WARRANTIES WITH REGARD TO THIS
 * SOFTWARE, INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND
 * FITNESS, IN NO EVENT SHALL THE COPYRIGHT HOLDERS BE LIABLE FOR ANY
 * SPECIAL, INDIRECT OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
 * WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN
 * AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION,
 * ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
 * THIS SOFTWARE.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <wayland-client-core.h>

#define NOTIFYD_TOPLEVEL_MANAGER "zwlr_foreign_toplevel_manager_v1"

/* The states of a window. */
enum { NOTIFYD_TOPLEVEL_MINIMIZED = 1, NOTIFYD_TOPLEVEL_ACTIVATED = 2 };

/* Arguments that are numbers, or objects of interfaces that are not looked at. */
static const struct wl_interface *notifyd_no_interfaces[5] = {NULL, NULL, NULL, NULL, NULL};

static const struct wl_message notifyd_toplevel_requests[] = {
    {"set_maximized", "", notifyd_no_interfaces},
    {"unset_maximized", "", notifyd_no_interfaces},
    {"set_minimized", "", notifyd_no_interfaces},
    {"unset_minimized", "", notifyd_no_interfaces},
    {"activate", "o", notifyd_no_interfaces},
    {"close", "", notifyd_no_interfaces},
    {"set_rectangle", "oiiii", notifyd_no_interfaces},
    {"destroy", "", notifyd_no_interfaces},
};

static const struct wl_message notifyd_toplevel_events[] = {
    {"title", "s", notifyd_no_interfaces},
    {"app_id", "s", notifyd_no_interfaces},
    {"output_enter", "o", notifyd_no_interfaces},
    {"output_leave", "o", notifyd_no_interfaces},
    {"state", "a", notifyd_no_interfaces},
    {"done", "", notifyd_no_interfaces},
    {"closed", "", notifyd_no_interfaces},
};

static const struct wl_interface notifyd_toplevel_interface = {
    "zwlr_foreign_toplevel_handle_v1", 1, 8, notifyd_toplevel_requests, 7, notifyd_toplevel_events,
};

static const struct wl_interface *notifyd_toplevel_type[1] = {&notifyd_toplevel_interface};

static const struct wl_message notifyd_manager_requests[] = {{"stop", "", notifyd_no_interfaces}};

static const struct wl_message notifyd_manager_events[] = {
    {"toplevel", "n", notifyd_toplevel_type},
    {"finished", "", notifyd_no_interfaces},
};

static const struct wl_interface notifyd_manager_interface = {
    NOTIFYD_TOPLEVEL_MANAGER, 1, 1, notifyd_manager_requests, 2, notifyd_manager_events,
};

typedef void (*notifyd_text_handler)(void *, struct wl_proxy *, const char *);
typedef void (*notifyd_object_handler)(void *, struct wl_proxy *, void *);
typedef void (*notifyd_plain_handler)(void *, struct wl_proxy *);

/* In the order of the events. */
struct notifyd_toplevel_listener {
    notifyd_text_handler title;
    notifyd_text_handler app_id;
    notifyd_object_handler output_enter;
    notifyd_object_handler output_leave;
    void (*state)(void *, struct wl_proxy *, struct wl_array *);
    notifyd_plain_handler done;
    notifyd_plain_handler closed;
};

struct notifyd_manager_listener {
    void (*toplevel)(void *, struct wl_proxy *, struct wl_proxy *);
    notifyd_plain_handler finished;
};

/* wl_registry.bind, whose arguments vary. */
static inline struct wl_proxy *notifyd_bind_manager(struct wl_proxy *registry, uint32_t name) {
    return wl_proxy_marshal_constructor_versioned(
        registry, 0, &notifyd_manager_interface, 1, name, notifyd_manager_interface.name, 1u, NULL);
}

/* The listener has to stay where it is. */
static inline int notifyd_listen_to_manager(
    struct wl_proxy *manager, const struct notifyd_manager_listener *listener, void *data) {
    return wl_proxy_add_listener(manager, (void (**)(void))(uintptr_t)listener, data);
}

static inline int notifyd_listen_to_toplevel(
    struct wl_proxy *toplevel, const struct notifyd_toplevel_listener *listener, void *data) {
    return wl_proxy_add_listener(toplevel, (void (**)(void))(uintptr_t)listener, data);
}

static inline void notifyd_destroy_toplevel(struct wl_proxy *toplevel) {
    wl_proxy_marshal(toplevel, 7);
    wl_proxy_destroy(toplevel);
}
