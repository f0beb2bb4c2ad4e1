// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_LIBRARIES_H
#define WEFT_RUNTIME_OCS_LIBRARIES_H

// The functions of libcurl and libmicrohttpd that Weft calls, as the table of a module of its own,
// weft-http.so (runtime/module.h): both bring TLS, LDAP, Kerberos and more with them, 29 shared
// libraries that would cost every command of weft more time than all else at its start.
// docs/lab.md has the figures.

#include "runtime/module.h"

#include <curl/curl.h>
#include <microhttpd.h>

// Each member has the name and the type of the function that it points to.
struct weft_http_libraries {
    struct {
        __typeof__(curl_easy_init) *easy_init;
        __typeof__(curl_easy_setopt) *easy_setopt;
        __typeof__(curl_easy_perform) *easy_perform;
        __typeof__(curl_easy_getinfo) *easy_getinfo;
        __typeof__(curl_easy_cleanup) *easy_cleanup;
        __typeof__(curl_slist_append) *slist_append;
        __typeof__(curl_slist_free_all) *slist_free_all;
        __typeof__(curl_version) *version;
    } curl;
    struct {
        __typeof__(MHD_start_daemon) *start_daemon;
        __typeof__(MHD_get_daemon_info) *get_daemon_info;
        __typeof__(MHD_get_timeout) *get_timeout;
        __typeof__(MHD_run) *run;
        __typeof__(MHD_stop_daemon) *stop_daemon;
        __typeof__(MHD_add_connection) *add_connection;
        __typeof__(MHD_get_connection_info) *get_connection_info;
        __typeof__(MHD_suspend_connection) *suspend_connection;
        __typeof__(MHD_resume_connection) *resume_connection;
        __typeof__(MHD_lookup_connection_value) *lookup_connection_value;
        __typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
        __typeof__(MHD_add_response_header) *add_response_header;
        __typeof__(MHD_queue_response) *queue_response;
        __typeof__(MHD_destroy_response) *destroy_response;
        __typeof__(MHD_basic_auth_get_username_password) *basic_auth_get_username_password;
        __typeof__(MHD_free) *free;
    } mhd;
};

// The one symbol of the module.
extern const struct weft_http_libraries weft_http_libraries;

// What weft_module_load makes a pointer to such a table of.
extern const struct weft_module weft_http_module;

#endif
